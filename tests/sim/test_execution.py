"""How runs are trained, as one value: checked, with keywords that replace its fields."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sim import Execution, Run, RunConfig, train, train_together
from sim.training.engines.local import one_thread
from sim.training.execution import check_device, execution_of
from theory import InputError

Make = Callable[..., RunConfig]


@pytest.mark.parametrize(
    "wrong",
    [{"workers": 0}, {"workers": 1.5}, {"resume": "yes"}, {"kernels": "fast"}, {"device": 3}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_values_that_make_no_sense_are_refused_by_name(
    wrong: dict[str, Any], small: Make, tmp_path: Path
) -> None:
    name = next(iter(wrong))
    with pytest.raises(InputError, match=f"^{name} = "):
        Execution(**wrong)
    with pytest.raises(InputError, match=f"^{name} = "):
        train(small(), tmp_path / "runs", **wrong)
    assert not (tmp_path / "runs").exists()


def test_keywords_replace_fields() -> None:
    base = Execution(workers=3, resume=True)
    assert execution_of(base, {}) == base
    assert execution_of(base, {"workers": 2}) == Execution(workers=2, resume=True)
    assert execution_of(None, {"overwrite": True}) == Execution(overwrite=True)
    with pytest.raises(TypeError, match="worker"):
        execution_of(None, {"worker": 2})  # type: ignore[typeddict-unknown-key]


def test_an_execution_does_what_its_keywords_do(small: Make, tmp_path: Path) -> None:
    config = small(epochs=1)
    (first,) = train(config, tmp_path)
    with pytest.raises(InputError, match="out"):
        train(config, tmp_path, Execution())
    before = (first.path / "provenance.json").stat().st_mtime_ns
    train(config, tmp_path, Execution(resume=True))
    assert (first.path / "provenance.json").stat().st_mtime_ns == before
    assert train_together(config.members(), [first.path], Execution(overwrite=True)) == "complete"
    assert (first.path / "provenance.json").stat().st_mtime_ns != before
    assert Run.open(first.path).metrics[-1]["epoch"] == 1


def test_devices_are_known_by_their_numbers() -> None:
    for name in ("cpu", "cuda", "cuda:0", "cuda:12", "cuda:123"):
        check_device(name, here=False)
    for name in ("cpu:0", "cuda:", "cuda:1234", "cuda12"):
        with pytest.raises(InputError, match="no such device"):
            check_device(name, here=False)


def test_a_process_gets_its_threads_back() -> None:
    torch.set_num_threads(2)
    with one_thread("cpu"):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
