"""The words of language models' runs: which are observed, and that keeping a study keeps their words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim import Run, make_run_config
from sim.data.corpus import Corpus
from sim.data.language import END
from validate.observe import observe
from validate.observe.language import SHOWN, most_frequent
from validate.observe.store import read_kept
from validate.observe.words import shown_words
from validate.studies import Study, keep


@pytest.mark.parametrize("n", [SHOWN - 1, SHOWN, SHOWN + 1, SHOWN + 9])
@pytest.mark.parametrize("end", [0, 5, None])
def test_as_many_as_are_shown_by_falling_frequency(n: int, end: int | None) -> None:
    tokens = np.repeat(np.arange(n, dtype=np.int32), np.arange(n, 0, -1))
    words = tuple(END if i == end else f"word {i}" for i in range(n))
    found = most_frequent(Corpus(tokens, np.array([len(tokens)]), words))
    assert found.tolist() == [i for i in range(n) if i != end][:SHOWN]


def test_kept_runs_have_the_words_of_their_folders(language_runs: list[Run], tmp_path: Path) -> None:
    plain = language_runs[0].config.model_dump(mode="json", exclude={"seed", "init_rate"})
    config = make_run_config(plain | {"init_rates": [0.3, 0.8], "seeds": [0, 1]})
    study = Study("tiny", "Two corpora.", {None: config})
    (tmp_path / "tiny").symlink_to(language_runs[0].path.parent)
    files = keep(study, tmp_path, tmp_path / "kept")
    assert len(files) == len(language_runs)
    for run, file in zip(language_runs, files, strict=True):
        assert shown_words(read_kept(file)) == shown_words(observe(run)) != {}
