"""A run that continues: with whom, by what code, and with which matrix product."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim import Run, RunConfig, train, train_together
from sim.fast.matmul import RouteReport
from sim.runs import provenance
from sim.runs.folder import RunFolder
from sim.training import kernels
from sim.training.jobs import jobs_of
from theory import InputError

Make = Callable[..., RunConfig]


def stopped_after(steps: int) -> Callable[[], bool]:
    """Return what stops training after so many steps."""
    count = itertools.count()
    return lambda: next(count) >= steps


def interrupt(config: RunConfig, out: Path, steps: int, **options: Any) -> list[Path]:
    """Train a configuration's members together until so many steps are taken, and return their folders."""
    members = config.members()
    paths = [out / member.name for member in members]
    assert train_together(members, paths, stop=stopped_after(steps), **options) == "interrupted"
    return paths


def test_members_without_a_checkpoint_in_common_keep_their_progress(small: Make, tmp_path: Path) -> None:
    """One is at step 5, the other has not begun: together both would start from zero."""
    (first,) = interrupt(small(seeds=[0]), tmp_path, 5)
    before = {file: file.read_bytes() for file in first.rglob("*") if file.is_file()}
    both = small(seeds=[0, 1]).members()
    paths = [tmp_path / member.name for member in both]
    with pytest.raises(InputError, match="no checkpoint in common, and their progress would be lost"):
        train_together(both, paths, resume=True)
    assert {name: before[name] for name in before if "checkpoints" in name.parts} == {
        file: file.read_bytes() for file in first.rglob("*") if file.is_file() and "checkpoints" in file.parts
    }
    assert train_together(both[:1], paths[:1], resume=True) == "complete"


def test_on_gpus_runs_of_different_steps_are_jobs_of_their_own(small: Make, tmp_path: Path) -> None:
    config = small(seeds=[0, 1, 2, 3])
    interrupt(small(seeds=[1, 3]), tmp_path, 3)
    pending = [(member, tmp_path / member.name) for member in config.members()]
    seeds = [[member.seed for member, _ in job] for job in jobs_of(pending, "cuda")]
    assert seeds == [[0, 2], [1, 3]]
    dealt = [[member.seed for member, _ in job] for job in jobs_of(pending, "cuda", parts=2)]
    assert dealt == [[0], [2], [1], [3]]


def test_a_run_continued_by_other_code_names_both(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {
        "commit": "a" * 40,
        "dirty": True,
        "diff": "+ a line",
        "python": "3.11",
        "versions": {"torch": "1"},
    }
    new = {"commit": "b" * 40, "dirty": False, "diff": None, "python": "3.11", "versions": {"torch": "2"}}
    config = small(seeds=[0])
    monkeypatch.setattr(provenance, "software", lambda: old)
    (path,) = interrupt(config, tmp_path, 5)
    assert RunFolder(path).read_provenance()["parts"] == []
    monkeypatch.setattr(provenance, "software", lambda: new)
    interrupt(config, tmp_path, 2, resume=True)
    train(config, tmp_path, resume=True)
    found = Run.open(path).provenance
    (part,) = found["parts"]
    assert part["until_step"] == 5
    assert {key: part[key] for key in old} == old
    assert {key: found[key] for key in new} == new
    assert provenance.commit_text(found) == "aaaaaaaaaa with changes, then bbbbbbbbbb"


def test_a_product_that_is_not_exact_here_is_not_taken_over(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    member = small().members()[0]
    earlier = {"matmul": {"route": "bf16-named", "gflops": {}, "error": {"bf16-named": 1e-7}}}
    for error, taken in ((1e-7, True), (2.0**-9, False)):
        report = RouteReport("default", {}, {"default": 1e-7, "bf16-named": error})
        monkeypatch.setattr(kernels, "member_route", lambda *_, report=report: report)
        with caplog.at_level(logging.WARNING, logger="anchorflow"):
            route = kernels.route_for(member, earlier, "cpu").route
        assert (route == "bf16-named") is taken
        assert bool(caplog.records) is not taken
    assert kernels.route_for(member, {}, "cpu").route == "default"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data": {"source": "draw", "n_sequences": 1001}}, "n_sequences = 1001: not a multiple"),
        ({"frozen": ["W_typo"]}, "training.frozen = 'W_typo'"),
        (
            {"data": {"source": "draw", "n_sequences": 1000, "fresh_noise": True}},
            "the task has no noise tokens",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_run_begins(
    options: dict[str, Any], words: str, small: Make, tmp_path: Path
) -> None:
    from sim import train_members

    members = [small().members()[0], small(**options).members()[0]]
    with pytest.raises(InputError, match=words):
        train_members(members, [tmp_path / "good", tmp_path / "bad"])
    assert not list(tmp_path.iterdir())
