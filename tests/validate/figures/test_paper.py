"""Every figure of the paper is built from the runs it is about, and refused from others."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from sim import Run, train
from tests.validate.conftest import TASK as TINY
from tests.validate.figures.drawn import drawn
from tests.validate.figures.synthetic import make_observations, several
from theory import InputError
from validate.cli import main
from validate.figures.paper import FIGURES, draw_figure, kept_of, runs_behind
from validate.figures.runs import shown_epochs
from validate.figures.sheet import plain
from validate.judge.groups import group_runs
from validate.judge.times import common_early
from validate.judge.times import early_epoch as when_early
from validate.observe import NoRunsError, Observations, find_observations, write_kept

GALLERY = Path(__file__).resolve().parents[3] / "docs" / "gallery"


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_every_figure_is_drawn(number: int) -> None:
    sheet = drawn(number)
    assert sheet.name.startswith(f"fig{number:02d}_")
    assert [len(row) for row in sheet.axes_] == [len(row.panels) for row in sheet.rows]
    titles = [row.title for row in sheet.rows if row.title]
    assert len(set(titles)) == len(titles), "two rows share a title"
    for row, axes in zip(sheet.rows, sheet.axes_, strict=True):
        for ax in axes:
            assert ax.get_xlabel()
            assert ax.has_data() or ax.patches
            assert ax.get_ylabel() or number == 2 or (row.share_y and ax is not axes[0])
    assert sheet.caption.endswith(".")


CURVES, MATRICES = 3, 4


@pytest.mark.parametrize(
    "number",
    [
        number if number in (CURVES, MATRICES) else pytest.param(number, marks=pytest.mark.long)
        for number in sorted(FIGURES)
    ],
)
def test_every_figure_is_written(number: int, tmp_path: Path) -> None:
    (file,) = drawn(number).write(tmp_path, ("svg",))
    assert file.stat().st_size > 5000


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_what_is_kept_has_all_that_a_figure_shows(number: int) -> None:
    """A study keeps only some observables, and each figure needs its own."""
    runs, missing = kept_of(FIGURES[number])
    assert missing == []
    assert FIGURES[number].build(runs).rows


@pytest.mark.slow
def test_an_unchanged_figure_is_an_unchanged_file(tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        files = draw_figure(15, [make_observations()]).write(tmp_path / name, ("png", "pdf", "svg"))
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1]


@pytest.mark.parametrize("number", sorted(set(FIGURES) - {2}))
def test_no_runs_are_refused(number: int) -> None:
    with pytest.raises(InputError, match=f"none for Fig. {number}"):
        draw_figure(number, [])


def test_prediction_and_observation_stand_side_by_side() -> None:
    """A row of Fig. 4 holds the observed matrices and, on the same scale, each prediction's."""
    for row in drawn(4).axes_[:2]:
        titles = [" ".join(ax.get_title().split()) for ax in row]
        assert [t.split(" mean ")[0] for t in titles[:2]] == [f"training, epoch {e}" for e in (2, 9)]
        assert [t.split(" (")[0] for t in titles[2:3]] == ["$P^s - u$"]
        assert titles[3].startswith(r"$P^s - \bar P$")
        assert len({ax.images[0].get_clim() for ax in row}) == 1


def test_the_early_epoch_is_that_of_the_answer_and_the_claims() -> None:
    """Figures, the answer and the ledger have one rule; the runs of a setting are shown at one epoch."""
    first, second = (make_observations("emb-mlp", seed=s) for s in (0, 1))
    (setting,) = group_runs([first, second])
    assert shown_epochs(setting) == (common_early(setting.runs), 9) == (2, 9)
    for line in second.metrics:
        line["accuracy"]["rsn_train"] = line["epoch"] / 14
    assert [when_early(run) for run in setting.runs] == [2, 9]
    assert shown_epochs(setting) == (9, 10)
    for line in second.metrics:
        line["accuracy"]["rsn_train"] = 0.1
    assert shown_epochs(setting) == (10,)


@pytest.mark.parametrize("number", [4, 5, 6, 9, 10, 11, 12, 15])
def test_runs_that_are_never_past_their_early_epoch_have_figures_of_it_alone(number: int) -> None:
    runs = several("emb-mlp" if number in (4, 10) else "transformer")
    for run in runs:
        for line in run.metrics:
            line["accuracy"]["rsn_train"] = 0.1
    sheet = FIGURES[number].build(runs)
    assert re.search(r"epoch 10 of 10; the paper (shows|trains)", sheet.about)
    titles = [getattr(panel, "title", "") for row in sheet.rows for panel in row.panels]
    assert not re.search(r"epoch [1-9]\b", " ".join(titles))


@pytest.mark.parametrize(
    ("number", "given", "problem"),
    [
        (4, "transformer", "about the Emb-MLP"),
        (5, "emb-mlp", "about Transformers"),
        (8, "emb-mlp", "none has several memory mappings"),
        (16, "transformer", r"about Transformers without norm \(--model\.norm none\)"),
        (17, "emb-mlp", "about Transformers"),
    ],
)
def test_runs_that_cannot_make_a_figure_are_refused(number: int, given: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        draw_figure(number, several(given))


def test_a_missing_observable_is_named() -> None:
    runs = several("transformer")
    for run in runs:
        arrays: Any = run.arrays
        del arrays["first_attention"]
    with pytest.raises(InputError, match=r"observable = 'first_attention'.*snapshot_tensors"):
        draw_figure(6, runs)


def test_titles_are_plain_on_a_terminal() -> None:
    assert (
        plain(r"D  $\tilde w$, $\hat P^s - u$, $P^s - \bar P$") == "D  w\u0303, P\u0302^s - u, P^s - P\u0304"
    )
    assert plain(r"$W_{\mathrm{in}}$, layer 1") == "W_in, layer 1"


@pytest.mark.usefixtures("blank_pictures")
def test_missing_studies_name_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: Any, tmp_path: Path
) -> None:
    def read(study: str) -> list[Observations]:
        if study == "emb-mlp":
            return several("emb-mlp")
        raise NoRunsError("study", study, "no runs", f"make them: anchorflow study {study} --run --keep")

    found, missing = kept_of(FIGURES[3], read)
    assert len(found) == 4
    assert [m.value for m in missing] == ["group-2024"]
    monkeypatch.setattr("validate.observe.kept", read)
    assert main(["figures", "5", "--out", str(tmp_path)]) == 2
    assert "anchorflow study group-2024 --run --keep" in capsys.readouterr().err
    assert main(["figures", "--out", str(tmp_path), "--json"]) == 0
    printed = capsys.readouterr()
    made = json.loads(printed.out)["figures"]
    assert [figure["figure"] for figure in made] == [2, 3, 4, 10]
    assert all(Path(file).exists() for figure in made for file in figure["files"])
    assert "Fig. 3 drawn in part" in printed.err
    assert "Fig. 17 not drawn: study = 'group-rates'" in printed.err


def test_a_damaged_kept_file_is_not_taken_for_a_missing_study() -> None:
    def read(study: str) -> list[Observations]:
        raise InputError("kept observations", study, "is not what was kept", "restore it")

    with pytest.raises(InputError, match="restore it"):
        kept_of(FIGURES[3], read)


@pytest.fixture(scope="module")
def transformer_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sim.config.run import make_run_config

    out = tmp_path_factory.mktemp("figures")
    config = make_run_config(
        {
            "task": TINY | {"length": 4},
            "model": {"kind": "transformer", "d_m": 16, "d_f": 16, "d_k": 8},
            "data": {"source": "draw", "n_sequences": 750},
            "training": {"epochs": 2, "snapshot_epochs": [1], "snapshot_tensors": "all"},
            "init_rates": [0.5, 0.8],
        }
    )
    train(config, out)
    return out


@pytest.mark.usefixtures("blank_pictures")
def test_any_run_folders_make_figures(
    transformer_runs: Path, runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--runs", str(transformer_runs), str(runs[0].path), str(runs[2].path)]
    assert main(["figures", "3", "6", "15", *given, "--out", str(tmp_path), "--format", "png", "pdf"]) == 0
    printed = capsys.readouterr().out
    assert {f.stem[:5] for f in tmp_path.glob("*.pdf")} == {"fig03", "fig06", "fig15"}
    assert {f.stem[:5] for f in tmp_path.glob("*.png")} == {"fig03", "fig06", "fig15"}
    assert f"Fig. 6: {tmp_path}/fig06_first_attention.png, {tmp_path}/fig06_first_attention.pdf" in printed
    assert main(["figures", "8", *given, "--out", str(tmp_path)]) == 2
    assert "none has several memory mappings" in capsys.readouterr().err


@pytest.mark.usefixtures("blank_pictures")
def test_a_figure_that_cannot_be_drawn_stops_no_other(
    transformer_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--runs", str(transformer_runs), "--out", str(tmp_path)]
    assert main(["figures", "3", "16", "15", "3", *given, "--json"]) == 2
    printed = capsys.readouterr()
    assert [each["figure"] for each in json.loads(printed.out)["figures"]] == [3, 15]
    assert "Fig. 16 not drawn: runs = 2: Fig. 16 is about Transformers without norm" in printed.err
    assert main(["figures", "3", "3", *given]) == 0
    assert main(["figures", "8", "16", *given]) == 2
    assert "none can be drawn" in capsys.readouterr().err


def test_kept_files_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "gamma0.8_seed0.safetensors"
    write_kept(make_observations("emb-mlp"), file)
    assert [o.config.seed for o in find_observations([file])] == [0]
    assert len(find_observations(tmp_path / "mine", variants=True)) == 1
    with pytest.raises(InputError, match="no such folder"):
        find_observations(tmp_path / "nowhere")


def test_unknown_figures_and_formats_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures", "18"]) == 2
    assert "choose one of 1, 2, 3, 4" in capsys.readouterr().err
    assert main(["figures", "2", "--format", "gif"]) == 2
    capsys.readouterr()


def test_fig_17_leaves_a_place_for_runs_that_did_not_finish() -> None:
    runs = several(learning_rate=1e-4) + several(gammas=(0.3,), learning_rate=1e-3)
    sheet = draw_figure(17, runs)
    titles = [[ax.get_title() for ax in row] for row in sheet.axes_[:2]]
    assert titles == [["rate 0.0001", "rate 0.001"]] * 2
    texts = [[t.get_text() for t in ax.texts] for ax in sheet.axes_[1]]
    assert [[t for t in row if t] for row in texts] == [[], ["no finished run"]]
    with pytest.raises(InputError, match="differ in more than γ and learning rate"):
        draw_figure(17, several() + several("no-norm"))


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_the_gallery_has_a_script_for_every_figure(number: int) -> None:
    (script,) = GALLERY.glob(f"plot_fig{number:02d}_*.py")
    text = script.read_text()
    assert f"Figure {number}: " in text.splitlines()[1]
    assert f"``anchorflow figures {number}``" in text
    assert set(re.findall(r"(?:draw_figure|runs_behind)\((\d+)\)", text)) == {str(number)}
    for source in FIGURES[number].sources:
        named = [study for study in source.studies if f"study ``{study}``" in text or f" {study} " in text]
        assert named == (list(source.studies) if len(source.studies) == 1 else [])
        assert (len(source.studies) > 1) <= ("likeliest setting" in text)


def test_a_gallery_script_draws_and_prints_what_it_computes(capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = GALLERY.glob("plot_fig02_*.py")
    found = runpy.run_path(str(script))
    assert found["sheet"].figure_ is not None
    printed = capsys.readouterr().out
    assert printed == f"{found['sheet'].caption}\nno runs: drawn from the task alone\n"


def test_costs_come_from_the_provenance() -> None:
    runs = kept_of(FIGURES[4])[0]
    text = runs_behind(4)
    assert f"{len(runs)} runs, {sum(run.seconds for run in runs) / 3600:.2f} hours" in text
    assert f"{max(run.provenance['peak_memory_mib'] for run in runs):.0f} MiB" in text
    assert runs_behind(2) == "no runs: drawn from the task alone"
