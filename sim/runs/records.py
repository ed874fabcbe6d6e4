"""The records of a run folder: what each may hold, with bounds, and the one way to read them.

A folder may come from somebody else, and checksums prove nothing: a stranger writes those too. So its records
are checked as any other input is, and what they say of arrays is compared with the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar, cast

import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from sim.config.run import LARGEST_SEED, Source
from sim.config.section import MANY
from sim.errors import DamagedError

Arrays = dict[str, npt.NDArray[Any]]
LARGEST_RECORD = 64 * 2**20
"""The most bytes of a record: some 150 000 evaluations."""
Text = Annotated[str, Field(max_length=2**16)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Digests = dict[Text, Digest | Annotated[list[Digest], Field(min_length=1, max_length=2)]]
"""The SHA-256 of every file that is listed: of one that is being replaced the new one, then the old one."""
Number = Annotated[float, Field(ge=0)]
Steps = Annotated[int, Field(ge=0, le=10**18)]
Several = Annotated[list[Text], Field(max_length=100_000)]
Named = Annotated[dict[Text, Text], Field(max_length=1000)]
Measured = Annotated[dict[Text, Number], Field(max_length=1000)]
Kind = TypeVar("Kind")
Route = Literal["default", "bf16-named"]


class Record(BaseModel):
    """Data of a run folder; keys that other versions write are left out."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class RouteReport(Record):
    """The speed and error of each route of matrix products on a machine, and the choice."""

    route: Route
    gflops: Measured
    """Floating-point operations per second of each route, in 1e9."""
    error: Measured
    """Largest error of each route against float64, entry by entry, over the product of absolute values."""


class KernelReport(Record):
    """Which kernels a run uses, and why."""

    used: Literal["torch", "compiled"]
    reason: Text
    seconds: Number | None = None
    """Time to compile."""
    difference: Number | None = None
    """Largest difference between compiled and torch's gradients, over the largest entry of each."""


class Tokenizer(Record):
    """The file of a run's tokenizer."""

    file: Text
    sha256: Digest


class Trained(Record):
    """Code and machine."""

    commit: Text | None = None
    dirty: bool | None = None
    diff: Annotated[str, Field(max_length=LARGEST_RECORD)] | None = None
    python: Text = ""
    versions: Named = {}
    device: Text = ""
    processor: Text = ""
    system: Text = ""
    arithmetic: Text | None = None


class Part(Trained):
    """What trained a run up to a step."""

    until_step: Steps


class Provenance(Trained):
    """Where a run's numbers come from."""

    status: Literal["running", "complete", "interrupted", "diverged"]
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    trained_with: Several
    wall_seconds: Number
    peak_memory_mib: Number
    reason: Text | None = None
    epoch: Annotated[int, Field(ge=0, le=MANY)] = 0
    written: Text = ""
    parts: Annotated[list[Part], Field(max_length=100_000)] = []
    threads: Annotated[int, Field(ge=1)] = 1
    matmul: RouteReport | None = None
    kernels: KernelReport | None = None
    tokenizer: Tokenizer | None = None
    model_file: Text | None = None
    sources: Annotated[dict[Text, Source], Field(max_length=1000)] = {}


class Evaluation(Record):
    """A line of a run's metrics."""

    epoch: Annotated[int | float, Field(ge=0, le=MANY)]
    step: Steps
    sum_learning_rate: Number
    loss: Annotated[dict[Text, Number | None], Field(min_length=1, max_length=1000)]
    accuracy: Annotated[dict[Text, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]


class CheckpointState(Record):
    """A checkpoint's state apart from its tensors."""

    epoch: Annotated[int, Field(ge=0, le=MANY)]
    position: Steps
    """Steps taken in the current epoch."""
    step: Steps
    sum_learning_rate: Number
    failure: Text | None
    """Why the member diverged, if it did."""
    seconds: Number
    """Wall time so far."""


class Counted(Record):
    """What the token-label counts of the training data were counted in."""

    n_sequences: Annotated[int, Field(ge=1, le=10**18, strict=False)]


class Texts(Record):
    """What the sequences of a language model are made of."""

    words: Annotated[list[Text], Field(min_length=1)]
    corpora: Annotated[list[Text], Field(min_length=1, max_length=1000)]


def read_json(content: bytes) -> Any:
    """Return JSON; raise DamagedError for anything else, and for what is nested hundreds of levels deep."""
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise DamagedError(f"not valid JSON: {error}") from None


def read_record(kind: type[Kind], data: Any) -> Kind:
    """Return a record from the bytes of its file or from plain data; raise DamagedError if it is none."""
    reader = _reader(cast("Any", kind))
    try:
        record = reader.validate_json(data) if isinstance(data, bytes) else reader.validate_python(data)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"{part}: " for part in problem["loc"][:1])
        raise DamagedError(f"{where}{problem['msg'][0].lower()}{problem['msg'][1:]}") from None
    return cast("Kind", record)


_reader: Any = cache(TypeAdapter)


def plain(record: Record) -> dict[str, Any]:
    """Return a record's keys as its file has them."""
    return record.model_dump(exclude_unset=True)


def read_evaluations(lines: list[Any]) -> list[dict[str, Any]]:
    """Return a run's evaluations: of the same data sets, and in the order of its steps."""
    evaluations = [read_record(Evaluation, line) for line in lines]
    if not evaluations:
        raise DamagedError("holds no evaluation")
    first, steps = evaluations[0].loss.keys(), [(line.step, line.epoch) for line in evaluations]
    if any(not line.loss.keys() == line.accuracy.keys() == first for line in evaluations):
        raise DamagedError("has evaluations of different data sets")
    if any(after <= before for before, after in pairwise(steps)):
        raise DamagedError("has evaluations that are not in the order of their steps")
    return [plain(line) for line in evaluations]


def check_arrays(arrays: Arrays, shapes: Mapping[str, tuple[int, ...]], kinds: str = "f") -> None:
    """Raise DamagedError unless the arrays have these shapes, and types of these kinds."""
    for name, shape in shapes.items():
        array = arrays.get(name)
        if array is None or array.shape != shape or array.dtype.kind not in kinds:
            has = "no array" if array is None else f"{array.dtype} of shape {array.shape} as"
            raise DamagedError(f"has {has} {name}, where its configuration asks for shape {shape}")
