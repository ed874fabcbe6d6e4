"""Many revisions of a checkpoint: read in parts, sorted by step, and warned of where out of order."""

import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.toy_text import toy_documents
from tests.validate.corpus.test_compare_embedding import CORPUS, C, V
from theory import InputError
from validate import compare_embedding, compare_series, read_embedding
from validate.corpus.association import MEASURES
from validate.corpus.series import steps_of

W = np.random.default_rng(0).standard_normal((V, 12))
START = 0.05 * np.random.default_rng(1).standard_normal((V, 12))
STEPS = (1, 10, 100, 1000)


def embedding(step):
    """Rows of C Wᵀ grow with the step."""
    return np.asarray(START + step**0.5 * C @ W)


def saved(folder, matrices, readout=False):
    files = []
    for step, matrix in matrices.items():
        file = folder / f"step{step}" / "model.safetensors"
        file.parent.mkdir(parents=True)
        tensors = {"gpt_neox.embed_in.weight": torch.from_numpy(matrix), "big": torch.ones(500, 500)}
        if readout:
            tensors["embed_out.weight"] = torch.from_numpy(C.T @ W)
        safetensors.torch.save_file(tensors, file)
        files.append(file)
    return files


class Counting(io.BytesIO):
    """A remote file: it counts the bytes that are read."""

    read_bytes = 0

    def read(self, size=-1):
        part = super().read(size)
        self.read_bytes += len(part)
        return part


def test_only_the_embeddings_bytes_are_read(tmp_path):
    (file,) = saved(tmp_path, {1: embedding(1)})
    remote = Counting(file.read_bytes())
    assert np.array_equal(read_embedding(remote), embedding(1))
    header = 8 + int.from_bytes(remote.getvalue()[:8], "little")
    assert remote.read_bytes <= 2 * header + V * 12 * 8
    assert len(remote.getvalue()) > 500 * 500 * 4


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_dtypes_and_parts_are_what_the_library_reads(tmp_path, dtype):
    tensor = torch.randn(9, 4).to(dtype)
    safetensors.torch.save_file({"lm_head.weight": torch.zeros(9, 4)}, tmp_path / "a.safetensors")
    safetensors.torch.save_file({"model.embed_tokens.weight": tensor}, tmp_path / "b.safetensors")
    index = {"weight_map": {"lm_head.weight": "a.safetensors", "model.embed_tokens.weight": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    expected = tensor.to(torch.float64).numpy()
    assert np.array_equal(read_embedding(tmp_path / "model.safetensors.index.json"), expected)
    assert np.array_equal(read_embedding(tmp_path / "b.safetensors"), expected)


def test_each_point_is_the_comparison_of_its_revision(tmp_path):
    """Sorted by step whatever the order of the files; tied or not, each matrix with its own predictor."""
    for untied in (False, True):
        folder = tmp_path / str(untied)
        files = saved(folder, {step: embedding(step) for step in STEPS}, untied)
        readout = None if untied else "tied"
        series = compare_series([files[i] for i in (2, 0, 3, 1)], CORPUS, readout=readout, top=V, controls=1)
        kinds = [("embedding", "bigram"), ("read-out", "readout")] if untied else [("embedding", "tied")]
        assert [(p.step, p.matrix, p.predictor) for p in series.points] == [
            (step, *kind) for step in STEPS for kind in kinds
        ]
        assert series.warnings == ()
        for point in series.points:
            name = "embed_out.weight" if point.matrix == "read-out" else "gpt_neox.embed_in.weight"
            file = folder / f"step{point.step}" / "model.safetensors"
            alone = compare_embedding(
                file, CORPUS, tensor=name, predictors=(point.predictor,), top=V, controls=1, bands=(1,)
            )
            assert point.association == alone.comparisons[0].association
        table = series.table()
        for point, row in zip(series.points, table.rows, strict=True):
            cells = dict(zip(table.header, row, strict=True))
            assert [cells.pop(name) for name in MEASURES] == point.association.cells()
            own = {"step": str(point.step), "matrix": point.matrix, "predictor": point.predictor}
            assert cells == own | {"file": point.file}
        ((left, right),) = series.sheet().plot().axes_
        for line, values in ((left.lines[0], "pearson"), (left.lines[1], "control")):
            points = [p for p in series.points if p.matrix == "embedding"]
            assert list(line.get_xdata()) == list(STEPS)
            assert list(line.get_ydata()) == [getattr(p.association, values).mean for p in points]
        assert list(right.lines[0].get_ydata()) == [p.association.observed_mean for p in points]


def test_identical_and_misplaced_revisions_are_reported(tmp_path):
    matrices = {step: embedding(step) for step in STEPS}
    late = compare_series(saved(tmp_path / "late", matrices | {10: embedding(5000)}), CORPUS, readout="tied")
    (warning,) = late.warnings
    assert "step10" in warning
    assert "out of order" in warning
    same = compare_series(saved(tmp_path / "same", matrices | {10: embedding(1000)}), CORPUS)
    assert any("step1000" in w and "the same embedding as" in w and "step10/" in w for w in same.warnings)
    content = (tmp_path / "same" / "step1" / "model.safetensors").read_bytes()
    unnamed = [io.BytesIO(content) for _ in range(3)]
    assert len(compare_series(unnamed, CORPUS, readout="tied").warnings) == 2


@pytest.mark.parametrize(
    ("paths", "steps"),
    [
        (["m2/step10/a1", "m2/step9/a1"], [10, 9]),
        (["a/b", "a/c"], [0, 1]),
        (["checkpoint-500"], [500]),
        (
            [f"step={n}-val_loss={loss}" for n, loss in ((100, 3.21), (400, 1.23), (200, 2.9))],
            [100, 400, 200],
        ),
        (["stage1-step10000-tokens42B", "stage1-step1000-tokens5B"], [10000, 1000]),
        (["m160m/init", "m160m/1k", "m160m/2.5k", "m160m/1M"], [0, 1000, 2500, 10**6]),
        (["iter_0001000/m", "iter_0000020/m"], [1000, 20]),
        (["epoch=1-step=90", "epoch=0-step=45"], [90, 45]),
        (["500_steps", "20_steps"], [500, 20]),
        (["checkpoint-2e3", "checkpoint-500", "checkpoint-1e5"], [2000, 500, 100_000]),
        (["a/step166", "a/step249", "a/step83", "b/step166", "b/step83"], [1, 2, 0, 4, 3]),
        (["snapshots/0a1b2c3d4e/x", "snapshots/9f8e7d6c5b/x"], [0, 1]),
    ],
)
def test_steps_are_the_numbers_that_belong_to_them(paths, steps):
    assert steps_of(paths) == steps


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["epoch=1-step=50", "epoch=2-step=20"], "by step: 50, 20; by epoch: 1, 2"),
        (["a1/b9", "a2/b8"], "by number 2: 9, 8; by number 1: 1, 2"),
        (["epoch=0-step=5", "epoch=0-step=9", "epoch=1-step=5"], "by step: 5, 9, 5; by epoch: 0, 0, 1"),
        (["step100", "final"], "some have no step"),
    ],
)
def test_an_order_that_names_do_not_settle_is_refused_with_its_readings(paths, told):
    with pytest.raises(InputError, match=f"{told}.*--steps"):
        steps_of(paths)


def test_the_command_prints_one_table_and_writes_one_figure(here, cli, blank_pictures, monkeypatch):
    Path("toy.txt").write_text("\n\n".join(toy_documents(80)))
    saved(Path("runs"), {1: embedding(1), 10: embedding(10), 100: embedding(10)})
    command = ["corpus", "embedding", "toy.txt", "--checkpoints", "runs/*/model.safetensors"]
    assert "does not say whether its read-out is tied" in cli(*command).err
    command += ["--readout", "tied"]
    said = cli(*command, "--out", "out")
    assert "warning: " in said.err
    written = json.loads(Path("out/series.json").read_text())
    assert [point["step"] for point in written["points"]] == [1, 10, 100]
    assert {file.name for file in Path("out/figures/series").iterdir()} == {"series.png", "series.svg"}
    assert cli(*command, "--json").json() == written
    monkeypatch.setenv("HOME", str(here))
    assert len(cli(*command[:4], "~/runs/*/model.safetensors", "--json").json()["points"]) == 6
    one = ["--checkpoint", "runs/step1/model.safetensors", "--out", "other"]
    assert "applies to --checkpoints only" in cli(*command[:3], *one, code=2).err
    assert "in quotes" in cli(*command[:4], *map(str, Path("runs").glob("*/model.safetensors")), code=2).err
    for pattern in (".", "/", "none**/model.safetensors"):
        assert "matches no file" in cli(*command[:4], pattern, code=2).err


def test_what_is_no_series_is_refused(tmp_path):
    files = saved(tmp_path, {1: embedding(1), 2: embedding(2)[:-1]})
    widths = saved(tmp_path / "widths", {1: embedding(1), 2: embedding(2)[:, :-1].copy(), 3: embedding(3)})
    (tmp_path / "model.safetensors.index.json").write_text("[]")
    (tmp_path / "short.safetensors").write_bytes(files[0].read_bytes()[:-20])
    for paths, problem in (
        ([], "checkpoints = .*: none"),
        (files, rf"checkpoints = .*shape \({V - 1}, 12\), the first embedding \({V}, 12\)"),
        (widths, rf"checkpoints = .*shape \({V}, 11\), the first embedding \({V}, 12\)"),
        ([tmp_path / "model.safetensors.index.json"], "path = .*: not a checkpoint's index"),
        ([tmp_path / "none.safetensors"], "file = .*: no such file"),
    ):
        with pytest.raises(InputError, match=rf"^{problem}; "):
            compare_series(paths, CORPUS)
    with tempfile.TemporaryFile() as file, pytest.raises(InputError, match="not a safetensors file"):
        compare_series([file], CORPUS)  # Its name is a number.
    header = json.dumps({"big": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 10**15]}}).encode()
    (tmp_path / "long.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    for name in ("short", "long"):  # Its last tensor is cut, or said to be longer than any memory.
        with pytest.raises(InputError, match="not a safetensors file"):
            read_embedding(tmp_path / f"{name}.safetensors", "big")
