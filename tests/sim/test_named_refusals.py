"""Refusals of training and of finding runs that a user meets by naming the wrong thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sim
from theory import InputError


def test_sharing_asks_for_resume(tmp_path: Path, small: Callable[..., sim.RunConfig]) -> None:
    with pytest.raises(InputError, match=r"shared = True: continues what others have begun"):
        sim.train_members(small().members(), [tmp_path / "run"], shared=True)
    sim.train_members(small().members(), [tmp_path / "run"], shared=True, resume=True)


@pytest.mark.parametrize("n", [3, 8, 9])
def test_folders_of_runs_are_named_and_the_rest_counted_off(n: int, tmp_path: Path) -> None:
    from sim.runs.run import _SHOWN_FOLDERS

    for i in range(n):
        (tmp_path / f"study{i}" / "run").mkdir(parents=True)
        (tmp_path / f"study{i}" / "run" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="folders of runs") as refused:
        sim.find_runs(tmp_path)
    assert refused.value.remedy.count("study") == min(n, _SHOWN_FOLDERS)
    assert refused.value.remedy.endswith(", ...") == (n > _SHOWN_FOLDERS)
