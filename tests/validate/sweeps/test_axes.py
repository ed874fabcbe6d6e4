"""Axes as lists of values: what their names mean, products and rows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim import MemberConfig, RunConfig
from tests.validate.sweeps.toy import write_toy
from theory import InputError
from validate.sweeps import load_sweep, run_name


def members(folder: Path, axes: str) -> list[MemberConfig]:
    return list(load_sweep(write_toy(folder, axes=axes)).members.values())


def test_zipped_axes_go_together(tmp_path: Path) -> None:
    file = write_toy(tmp_path, axes="gamma = [0.4, 0.5]\nlearning_rate = [1e-3, 2e-3]\nseed = [3, 4]")
    file.write_text('combine = "zip"\n' + file.read_text())
    found = load_sweep(file).members.values()
    assert [(m.init_rate, m.training.learning_rate, m.seed) for m in found] == [
        (0.4, 1e-3, 3),
        (0.5, 2e-3, 4),
    ]
    file.write_text(file.read_text().replace("seed = [3, 4]", "seed = [3]"))
    with pytest.raises(InputError, match="differ in length"):
        load_sweep(file)


def test_q_and_the_number_of_keys_change_the_task(tmp_path: Path) -> None:
    axes = '"task.keys" = ["40..41"]\nq = [2, 3]\nN_Z = [3, 5]\n"task.vocab_size" = [90]'
    found = [m.build_task() for m in members(tmp_path, axes)[::4]]
    assert [(task.n_anchors, task.length) for task in found] == [(2, 3), (2, 3), (3, 4), (3, 4)]
    assert [task.keys for task in found[:2]] == [(40, 41, 42), (40, 41, 42, 43, 44)]
    held_out = [sum(len(mapping.held_out) for mapping in task.mappings) for task in found]
    assert held_out == [1, 1, 0, 0]  # Those of two anchors cannot occur among three.
    one, *_ = members(tmp_path, "N_Z = [1]")
    assert one.build_task().keys == (40,)
    with pytest.raises(InputError, match="the task has 2 keys, with gaps"):
        members(tmp_path, "N_Z = [3]")


@pytest.mark.parametrize(
    ("axes", "named"),
    [
        ("learning_rat = [1e-3]", "did you mean 'learning_rate'"),
        ("length = []", "neither a list of values nor"),
        ("q = [1.5]", "not a positive integer"),
        ("q = [0]", "axes.q = 0: not a positive integer"),
        ("N_Z = [0]", "axes.n_keys = 0: not a positive integer"),
        ("learning_rate = [1e-3, 1e-3]", "same name to two variants"),
        ("learning_rate = [-1.0]", "learning_rate"),
    ],
)
def test_axes_that_make_no_sense_are_refused_by_name(tmp_path: Path, axes: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        members(tmp_path, axes)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("length = 3\n", "", "length = None: not an integer"),
        ("keys = [40, 44]\n", "", "keys = None: not a list"),
        ("keys = [40, 44]", "keys = []", "the task has 0 keys"),
        ("held_out = [[11, 12]]", "held_out = [11, 12]", "held_out = 11: not a list"),
        ("[model]", '[task.mappings]\nrule = "sum"\n[model]', r"write \[\[mappings\]\]"),
    ],
)
def test_axes_of_the_task_need_a_task(tmp_path: Path, old: str, new: str, named: str) -> None:
    file = write_toy(tmp_path, axes="q = [2, 3]\nN_Z = [1, 2]")
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=named):
        load_sweep(file)


def test_a_runs_name_is_that_of_its_configuration(tmp_path: Path) -> None:
    (first, *_), again = members(tmp_path, "d_m = [8]"), members(tmp_path, "d_m = [8]")[0]
    assert run_name(first) == run_name(again)
    one, other = (RunConfig(model={"kind": kind}).members()[0] for kind in ("transformer", "one-layer"))
    assert run_name(one) != run_name(other)  # Although both leave every key at its default.
