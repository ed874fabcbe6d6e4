"""Write table and picture of docs/results/frozen.md from kept runs: python docs/update_frozen.py [KEPT].

Accuracies of the study `frozen-long`, where the embedding is put in and does not move.
"""

from __future__ import annotations

from pathlib import Path

from marked import folder_of, markdown_table, renew
from pictures import redraw

from validate.figures import AccuracyCurves, new_axes
from validate.judge.ceiling import one_token_ceiling, order_blind_ceiling
from validate.judge.groups import Setting, group_runs
from validate.judge.stats import SHARE, over_seeds
from validate.judge.times import DATA_SETS
from validate.observe import KEPT, kept
from validate.observe.store import kept_files
from validate.studies import load_study

STUDY = "frozen-long"
PAGE = Path(__file__).resolve().parent / "results" / "frozen.md"
TITLES = {
    "frozen": "as predicted",
    "frozen-shuffled": "as predicted of other anchors",
    "frozen-random": "random",
}
"""What the embedding is frozen at, by variant."""


def settings(folder: Path) -> dict[str, Setting]:
    """Return the kept runs of each variant that has some."""
    there = {file.name.partition("__")[0] for file in kept_files(STUDY, folder)}
    return {v: group_runs(kept(STUDY, v, folder=folder))[0] for v in TITLES if v in there}


def row(variant: str, found: Setting | None) -> list[str]:
    """Return a variant's line: how many of its seeds are kept, and accuracies at the end."""
    runs = found.runs if found else []
    ends = [run.metrics[-1]["accuracy"] for run in runs]
    cells = [str(over_seeds([end[part] for end in ends], SHARE)) for part in DATA_SETS]
    seeds = f"{len(runs)} of {len(load_study(STUDY).configs[variant].seeds)}"
    return [TITLES[variant], seeds, *cells]


def draw(found: dict[str, Setting]) -> None:
    """Draw the accuracies over epochs, one panel a variant."""
    figure, axes = new_axes(1, len(found), size=(2.9, 2.6))
    for ax, (variant, setting) in zip(axes, found.items(), strict=True):
        ceiling = order_blind_ceiling if variant == "frozen-random" else one_token_ceiling
        levels = {"all of the table that can be learned": ceiling(setting.task) or 1.0}
        AccuracyCurves.from_runs(setting, title=TITLES[variant], levels=levels).plot(ax)
    axes[-1].legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    redraw(figure, PAGE.with_suffix(".png"))


def table(found: dict[str, Setting]) -> str:
    """Return accuracies at the end, one line a variant."""
    header = ["embedding", "seeds", "table", "training sums", "held-out sums"]
    return markdown_table(header, [row(variant, found.get(variant)) for variant in TITLES])


def main(folder: Path) -> None:
    """Renew the table and the picture."""
    found = settings(folder)
    renew(PAGE, "table", table(found))
    draw(found)


if __name__ == "__main__":
    main(folder_of(__doc__, KEPT))
