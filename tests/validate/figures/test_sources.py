"""A figure shows the likeliest setting that has the γ it needs: by origin, never by what runs show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.validate.figures.synthetic import make_observations, several
from validate.claims.settings import SETTINGS
from validate.figures.paper import FIGURES, Source, kept_of, likeliest, runs_behind
from validate.figures.paper.sources import Read
from validate.observe import NoRunsError, Observations, kept
from validate.observe.store import kept_file, write_kept

GROUP, NEXT = "group-2024", "post-norm-gelu"


def reader(by_study: Mapping[str, list[Observations]]) -> Read:
    def read(study: str) -> list[Observations]:
        if study not in by_study:
            raise NoRunsError("study", study, "no runs", f"make them: anchorflow study {study} --run --keep")
        return by_study[study]

    return read


def at(*init_rates: float, **training: Any) -> list[Observations]:
    return [make_observations(gamma=rate, **training) for rate in init_rates]


def test_the_order_is_that_of_the_settings_and_begins_with_the_primary_one() -> None:
    order = [setup.study for setup in SETTINGS]
    studies = likeliest(0.8).studies
    assert studies[0] == order[0] == GROUP
    assert [order.index(study) for study in studies] == sorted(order.index(study) for study in studies)
    assert "no-norm" not in studies  # The paper's Transformer has norms; Fig. 16 is about the one without.


@pytest.mark.parametrize(
    ("rates", "chosen"),
    [((0.3, 0.8), GROUP), ((0.3, 0.5, 0.8), GROUP), ((0.3,), NEXT), ((), NEXT)],
)
def test_a_setting_that_lacks_a_needed_gamma_is_passed_over(rates: tuple[float, ...], chosen: str) -> None:
    found = {GROUP: at(*rates)} if rates else {}
    study, runs = likeliest(0.3, 0.8).find(reader(found | {NEXT: several()}))
    assert study == chosen
    assert len(runs) == (len(rates) if chosen == GROUP else 4)


def test_what_the_runs_show_changes_nothing() -> None:
    """The first setting stays, with one seed that learned nothing beside better ones in the others."""
    poor = at(0.3, 0.8)
    for line in itertools.chain.from_iterable(run.metrics for run in poor):
        line["accuracy"] = dict.fromkeys(line["accuracy"], 0.0)
    study, runs = likeliest(0.3, 0.8).find(reader({GROUP: poor, NEXT: several(), "transformer": several()}))
    assert (study, runs) == (GROUP, poor)


def test_without_any_setting_the_refusal_names_the_primary_one() -> None:
    with pytest.raises(NoRunsError, match=f"anchorflow study {GROUP} --run --keep"):
        likeliest(0.8).find(reader({}))
    with pytest.raises(NoRunsError, match=r"no kept run at γ = 0\.8.*study group-2024 --run"):
        likeliest(0.3, 0.8).find(reader({GROUP: at(0.3)}))
    assert Source(("emb-mlp",)).find(reader({"emb-mlp": []})) == ("emb-mlp", [])


@pytest.mark.parametrize("number", [3, 5, 6, 9, 11, 12, 13, 15])
def test_every_figure_of_the_transformer_begins_with_the_primary_setting(number: int) -> None:
    source = FIGURES[number].sources[0]
    assert source.studies == likeliest().studies
    assert source.init_rates
    found = {GROUP: at(*source.init_rates), "transformer": several()}
    runs, _ = kept_of(FIGURES[number], reader(found))
    assert runs == found[GROUP]


def write(folder: Path, study: str, runs: list[Observations]) -> None:
    for run in runs:
        write_kept(run, kept_file(study, None, run.config, folder))


def test_kept_files_decide_which_setting_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both branches, by real kept files: without and with the primary setting's own."""

    def read(study: str) -> list[Observations]:
        return kept(study, folder=tmp_path)

    monkeypatch.setattr("validate.figures.paper.registry.kept", read)
    write(tmp_path, NEXT, several(learning_rate=3e-4))
    assert "γ = 0.8, 2 seeds" in FIGURES[15].build(kept_of(FIGURES[15], read)[0]).about
    assert runs_behind(15).startswith(f"study {NEXT}: 4 runs, ")
    write(tmp_path, GROUP, at(0.8))
    sheet = FIGURES[15].build(kept_of(FIGURES[15], read)[0])
    assert re.search(r"γ = 0\.8, 1 seed; epochs 2 and 9 of 10; the paper trains for 1000", sheet.about)
    told = runs_behind(15)
    assert told.startswith(f"study {GROUP}: 1 run, ")
    assert told.endswith(f"trained again by anchorflow study {GROUP} --run --keep")


def test_fig_3_says_which_gamma_the_transformer_lacks_though_the_emb_mlp_has_it() -> None:
    runs = at(0.3, 0.8) + several("emb-mlp", (0.3, 0.5, 0.8))
    caption = FIGURES[3].build(runs).caption
    assert "A: loss and accuracy of the Transformer" in caption
    assert "The paper's γ = 0.5 is not among these runs. B:" in caption
