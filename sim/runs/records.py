"""The schemas of a run folder's JSON files."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from sim.runs.tensors import DamagedError

Count = Annotated[StrictInt, Field(ge=0)]
Number = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
_Loss = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Record(BaseModel):
    """A JSON object with the keys that this program relies on."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CheckpointState(Record):
    """The state in a checkpoint besides tensors."""

    epoch: Count
    position: Count
    """Steps taken in the current epoch."""
    step: Count
    sum_learning_rate: Number
    failure: StrictStr | None
    """Why the member diverged, if it did."""
    seconds: Number
    """Wall time so far."""


class MetricsLine(Record):
    """One evaluation; a loss that was not finite is None."""

    epoch: Number
    step: Count
    sum_learning_rate: Number
    loss: dict[str, _Loss | None]
    accuracy: dict[str, Annotated[Number, Field(le=1)]]


class _Matmul(Record):  # sim.fast.matmul.RouteReport
    route: Literal["default", "bf16-named"]
    gflops: dict[str, Number]
    error: dict[str, Number]


class _Kernels(Record):  # sim.training.kernels.KernelReport
    used: Literal["torch", "compiled"]
    reason: StrictStr
    seconds: Number | None
    difference: Number | None


class _Tokenizer(Record):
    file: StrictStr
    sha256: StrictStr


class Provenance(Record):
    """How a run was made; other keys are allowed, since versions of this program added some."""

    model_config = ConfigDict(extra="allow", frozen=True)

    status: Literal["running", "interrupted", "complete", "diverged"]
    reason: StrictStr | None = None
    epoch: Count = 0
    written: StrictStr = ""
    commit: StrictStr | None = None
    dirty: StrictBool | None = None
    diff: StrictStr | None = None
    python: StrictStr = ""
    versions: dict[str, StrictStr] = {}
    device: StrictStr = ""
    processor: StrictStr = ""
    system: StrictStr = ""
    matmul: _Matmul | None = None
    kernels: _Kernels | None = None
    tokenizer: _Tokenizer | None = None
    model_file: StrictStr | None = None
    trained_with: list[StrictStr] = []
    parts: list[dict[str, Any]] = []
    sources: dict[str, StrictStr] = {}
    wall_seconds: Number
    peak_memory_mib: Number


_Kind = TypeVar("_Kind", bound=Record)


def read_value(content: bytes) -> Any:
    """Return the value of a JSON document; raise DamagedError if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"cannot be read ({error})") from None


def read_object(content: bytes) -> dict[str, Any]:
    """Return a JSON object; raise DamagedError if it is none."""
    value = read_value(content)
    if not isinstance(value, dict):
        raise DamagedError("is not a JSON object")
    return value


def fitting(schema: type[_Kind], value: dict[str, Any]) -> _Kind:
    """Return an object that fits a schema; raise DamagedError with the first key that does not."""
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise DamagedError(f"{key}: {problem['msg'][:1].lower()}{problem['msg'][1:]}") from None


def read_metrics(content: bytes) -> list[dict[str, Any]]:
    """Return the evaluations of metrics.jsonl; DamagedError names the first bad line."""
    lines: list[dict[str, Any]] = []
    step, parts = -1, None
    for number, text in enumerate(content.splitlines(), start=1):
        try:
            line = fitting(MetricsLine, read_object(text))
        except DamagedError as error:
            raise DamagedError(f"line {number}: {error}") from None
        parts = parts or line.loss.keys()
        if line.step <= step or line.loss.keys() != parts or line.accuracy.keys() != parts:
            raise DamagedError(f"line {number}: does not follow the line before it")
        step = line.step
        lines.append(json.loads(text))
    return lines
