"""A run folder from somebody else, whose checksums fit: read as any other input is."""

import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import Run, RunFolder, Trainer, advise, train_together
from sim.errors import DamagedError
from sim.runs.beginning import check_own_files
from sim.runs.files import read_tensors, write_tensors
from sim.runs.folder import PLAN, planned_runs, snapshot_name
from sim.runs.manifest import Manifest
from sim.runs.table import write_table
from tests.fuzz.strangers import CONTENTS
from tests.run_folder import change
from tests.sim.conftest import small, small_member, stopped_after
from tests.sim.test_language import Make, language
from theory import InputError
from validate import read_embedding

__all__ = ["language"]


@pytest.mark.parametrize("name", ["config.json", "provenance.json", "metrics.jsonl", "manifest.json"])
@pytest.mark.parametrize("content", CONTENTS)
def test_a_record_of_anything_else_is_refused_by_its_name(name: str, content: str, folder: Path) -> None:
    if name == "manifest.json":
        (folder / name).write_bytes(CONTENTS[content])
    else:
        Manifest(folder).write(name, CONTENTS[content])
    with pytest.raises(InputError, match=name.replace(".", r"\.") if name != "config.json" else str(folder)):
        Run.open(folder)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("status", ["complete"], "status: input should be"),
        ("wall_seconds", -1, "wall_seconds: input should be greater"),
        ("trained_with", "x" * 10, "trained_with: input should be a valid"),
        ("parts", [{}], "parts: field required"),
        ("sources", {"a": "a stranger"}, "sources: input should be"),
    ],
)
def test_a_key_of_the_provenance_is_named(key: str, value: Any, words: str, folder: Path) -> None:
    change(folder / "provenance.json", **{key: value})
    with pytest.raises(InputError, match=rf"provenance\.json': {words}"):
        Run.open(folder)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (lambda lines: lines[::-1], "not in the order of their steps"),
        (lambda lines: [lines[0] | {"accuracy": {"other": 1.0}}, *lines[1:]], "different data sets"),
        (lambda lines: [lines[0] | {"accuracy": {"mem": 1.5}}, *lines[1:]], "accuracy: input should be less"),
    ],
)
def test_evaluations_are_those_of_one_run(lines: Callable[[Any], Any], words: str, folder: Path) -> None:
    records = lines(Run.open(folder).metrics)
    Manifest(folder).write("metrics.jsonl", "".join(json.dumps(line) + "\n" for line in records))
    with pytest.raises(InputError, match=rf"metrics\.jsonl': .*{words}"):
        Run.open(folder)


@pytest.mark.parametrize("task", ["outside.toml", "/etc/passwd", None, ["x"]])
def test_a_task_in_another_file_is_not_opened(task: Any, folder: Path) -> None:
    change(folder / "config.json", task=task)
    with pytest.raises(InputError, match=r"config\.json.*task = .*: not a task.*names is opened"):
        Run.open(folder)
    plan = small().model_dump(mode="json") | {"task": task}
    (folder.parent / PLAN).write_text(json.dumps([plan]))
    with pytest.raises(InputError, match=rf"{PLAN}.*no file that it names is opened"):
        planned_runs(folder.parent)


def test_a_plan_of_more_runs_than_anybody_trains_is_refused_at_once(tmp_path: Path) -> None:
    many: dict[str, Any] = {"seeds": [*range(9000)], "init_rates": [i / 9 for i in range(9)]}
    for plans in ([small().model_dump(mode="json") | many], list[Any]([{}] * 10**6)):
        (tmp_path / PLAN).write_text(json.dumps(plans))
        begun = time.process_time()
        with pytest.raises(InputError, match=rf"{PLAN}.*(plans 81000 runs|holds 1000000 plans)"):
            planned_runs(tmp_path)
        assert time.process_time() - begun < 10


def test_a_vocabulary_is_as_large_as_the_embedding(folder: Path) -> None:
    """Before anything of its size is computed."""
    task = json.loads((folder / "config.json").read_text())["task"]
    change(folder / "config.json", task=task | {"vocab_size": 10**13})
    with pytest.raises(InputError, match=r"epoch_000000.*no embedding of shape \(10000000000000, 8\)"):
        Run.open(folder)


@pytest.mark.parametrize("how", ["shape", "NaN", "missing"])
def test_arrays_fit_the_configuration(how: str, folder: Path) -> None:
    name = snapshot_name(0)
    arrays, meta = read_tensors((folder / name).read_bytes())
    changed = {"shape": arrays["W1"].T.copy(), "NaN": arrays["W1"] * np.nan}
    other = {key: each for key, each in arrays.items() if key != "W1"}
    Manifest(folder).write(
        name, write_tensors(other | ({"W1": changed[how]} if how in changed else {}), meta)
    )
    with pytest.raises(InputError, match=r"epoch_000000\.safetensors': has .*W1"):
        Run.open(folder).snapshot(0)


def test_a_sparse_file_is_not_read(folder: Path) -> None:
    """A hole of a terabyte takes no disk."""
    for name in ("provenance.json", "metrics.jsonl", snapshot_name(0)):
        with (folder / name).open("r+b") as file:
            file.truncate(2**40)
        with pytest.raises(InputError, match="1099511627776 bytes, and at most"):
            RunFolder(folder).read(name, bytes)


def test_a_strangers_checkpoint_is_set_aside(folder: Path) -> None:
    """As a damaged one is, however well its checksum fits."""
    path = folder.parent / "run"
    assert train_together([small_member()], [path], stop=stopped_after(25)) == "interrupted"
    for file in sorted((path / "checkpoints").iterdir()):
        arrays, meta = read_tensors(file.read_bytes())
        Manifest(path).write(f"checkpoints/{file.name}", write_tensors({"W1": arrays["W1"][:1]}, meta))
    assert train_together([small_member()], [path], resume=True) == "complete"
    assert len([*(path / "checkpoints").glob("*.damaged")]) == 2
    assert Run.open(path).metrics == Run.open(folder).metrics


@pytest.mark.usefixtures("here")
def test_texts_without_a_checksum_are_opened_by_their_owner_alone(language: Make, tmp_path: Path) -> None:
    member = language()
    train_together([member], [tmp_path / "run"], stop=stopped_after(3))
    with pytest.raises(InputError, match=r"would open toy\.txt, .*no checksum; .*--resume"):
        check_own_files(tmp_path / "run", member)
    assert train_together([member], [tmp_path / "run"], resume=True) == "complete"


def test_a_run_on_characters_has_no_tokenizer_to_record(language: Make, tmp_path: Path) -> None:
    member = language(tokenizer="characters", vocab_size=20)
    assert train_together([member], [tmp_path / "run"]) == "complete"
    assert Run.open(tmp_path / "run").provenance["tokenizer"] is None


def test_a_cell_that_a_spreadsheet_would_compute_has_a_quote(tmp_path: Path) -> None:
    row = {
        "run": '=HYPERLINK("x")',
        "other": "+cmd|x",
        "at": "@SUM(1)",
        "n": -1.0,
        "plain": "a=b",
        "raw": "\udcff",
    }
    write_table([row], tmp_path / "t.csv")
    (read,) = csv.DictReader((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines())
    assert [*read.values()] == ['\'=HYPERLINK("x")', "'+cmd|x", "'@SUM(1)", "-1.0", "a=b", "\\udcff"]


@pytest.mark.parametrize("which", ["header", "matrix"])
def test_a_checkpoint_is_measured_before_it_is_read(which: str, tmp_path: Path) -> None:
    """A header of 99 MB, and a matrix of 4 TB in a file without any of its bytes."""
    entry = {"dtype": "F32", "shape": [2**30, 1024], "data_offsets": [0, 2**42]}
    header = json.dumps({"wte.weight": entry}).encode()
    size, words = (99_000_000, "a header of 99000000") if which == "header" else (len(header), "of memory")
    with (file := tmp_path / "model.safetensors").open("wb") as opened:
        opened.write(size.to_bytes(8, "little") + header)
        opened.truncate(8 + size + 2**42)
    with pytest.raises(InputError, match=words):
        read_embedding(file)


def test_nobody_else_may_write_where_a_command_does() -> None:
    """Even where the user's own mask would let everybody."""
    code = "import os; os.umask(0); from validate.cli import main; main(); print(f'{os.umask(0):03o}')"
    said = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines()[-1] == "002"


def test_a_checkpoint_with_moments_that_overflowed_is_a_runs_own() -> None:
    """The step that they give is zero: it is no damage."""
    trainer = Trainer([small_member()])
    arrays, state = trainer.checkpoint(0)
    arrays["second/W1"][:] = np.inf
    trainer.check_fit(arrays, state)
    with pytest.raises(DamagedError, match="W1"):
        trainer.check_fit(arrays | {"W1": arrays["W1"][:1]}, state)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_layer": 10_000}, "has 10000 layers"),
        ({"n_embd": 10**6, "n_head": 1}, r"has 1\.4e\+14 parameters"),
    ],
)
def test_a_model_that_nobody_trains_is_not_made(settings: dict[str, int], words: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"} | settings))
    with pytest.raises(InputError, match=words):
        advise(tmp_path / "config.json")
