"""Write docs/results/phases.md and its figures from the kept runs: python docs/update_phases.py [RUNS].

With RUNS, a folder with the sweeps' folders emb-mlp and transformer, what these hold is kept first. What is
missing there stays as it is kept. docs/phases_conditions.py has the conditions.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from command_line import CommandLine, folder_with
from marked import markdown_table
from phases_conditions import (
    AXES,
    LEVEL,
    MEASURE,
    Interval,
    Valued,
    advantage,
    columns,
    growth,
    shares,
    valued,
)
from phases_runs import FOLDER, SWEEPS, Kept, gather, kept_file, read, text_of
from phases_text import DIAGRAMS, GROWTH, HEAD, LIMITS, RIVALS, SHOWS
from pictures import redraw

from sim.runs.files import write_atomically
from validate.figures.style import PAGE_WIDTH, TEXT, TITLE, new_axes
from validate.judge.stats import SHARE, over_seeds
from validate.sweeps.measure_maps import Evaluated, measure_map
from validate.sweeps.searching.measures import MEASURES

PAGE = FOLDER.parent / "phases.md"
NORMS = {None: "", "post": "post-norm", "none": "no norm", "pre": "pre-norm"}
PANELS = {
    MEASURE: ("held-out sums when half of the training sums are right", (0.0, 1.0)),
    "bias": ("bias: test minus memory accuracy over the run", (-1.0, 1.0)),
}
"""What is drawn: a measure, its title, and the ends of its colours."""
VERDICTS = {"above": "agrees", "below": "contradicts", "neither": "undecided", "none": "too few runs"}
PLURAL = {"agrees": "agree with the paper", "contradicts": "contradict it"}

NEARLY = 0.9
"""The part of the largest mean at which the growth with γ is called over."""


def state_text(kept: Sequence[Kept]) -> str:
    """Return how far the sweeps are, and what trained them."""
    lines = []
    for each in kept:
        n, complete, diverged = (each.state[key] for key in ("runs", "complete", "diverged"))
        left = n - complete - diverged
        missing = f"; **{left} are not trained yet and are blank below**" if left else ""
        origins = "; ".join(sorted({_origin_text(origin) for origin in each.origins}))
        counts = f"{complete} of {n} runs complete, {diverged} diverged{missing}"
        lines.append(f"- {SWEEPS[each.name]}: {counts}.{f' {origins}.' * bool(origins)}")
    return "\n".join(lines)


def _origin_text(origin: dict[str, Any]) -> str:
    commit = f"Commit `{origin['commit'][:10]}`{' with changes' if origin['dirty'] else ''}"
    return (
        f"{commit}, torch {origin['versions']['torch']}, {origin['kernels']} kernels, {origin['processor']}"
    )


def growth_text(runs: dict[str, list[Valued]], wanted: dict[str, list[tuple[Any, float]]]) -> str:
    """Return condition 1: how many columns have each verdict, which do not agree, and the table."""
    rows = [
        _growth_row(name, norm, rate, columns(runs[name]).get((norm, rate), []))
        for name, columns_ in wanted.items()
        for norm, rate in columns_
    ]
    counts = Counter(row[-1] for row in rows)
    said = ", ".join(f"{counts[verdict]} {PLURAL.get(verdict, verdict)}" for verdict in VERDICTS.values())
    others = [f"- {row[0]} at {row[1]}: {row[-1]}" for row in rows if row[-1] != VERDICTS["above"]]
    header = ["model", "learning rate", "runs with a value", "their γ", "ρ of γ and accuracy", "column"]
    found = "\n".join([f"Of {len(rows)} columns: {said}.", *([""] if others else []), *others])
    return f"{found}\n\n{markdown_table(header, rows)}"


def _growth_row(name: str, norm: str | None, rate: float, own: list[Valued]) -> list[str]:
    interval = growth(own)
    scales = sorted({config.init_rate for config, _ in own})
    covered = " to ".join(dict.fromkeys(f"{scale:g}" for scale in (scales[:1] + scales[-1:]))) or "–"
    verdict = VERDICTS[interval.side]
    return [label(name, norm), f"{rate:g}", str(len(own)), covered, str(interval), verdict]


def reading(kept: Kept, norm: str | None) -> str:
    """Say in a line how the accuracy goes with γ in one diagram, over all rates and seeds."""
    at: dict[float, list[float]] = defaultdict(list)
    for config, value in valued(kept):
        if AXES["norm"](config) == norm:
            at[config.init_rate].append(value)
    if len(at) < 2:
        return f"- {label(kept.name, norm)}: too few runs have a value."
    means = {scale: sum(values) / len(values) for scale, values in sorted(at.items())}
    (first, low), *_, (last, high) = means.items()
    top = max(means.values())
    enough = next(scale for scale, mean in means.items() if mean >= NEARLY * top)
    chance = 1 / len(kept.runs[0][0].build_task().keys)
    said = (
        f"{low:.2f} of the held-out sums at γ = {first:g}, {high:.2f} at γ = {last:g} (chance: {chance:.2f})"
    )
    level = f"at least {NEARLY:g} of the largest mean, {top:.2f}, first at γ = {enough:g}"
    return f"- {label(kept.name, norm)}: {said}; {level}."


def label(name: str, norm: str | None) -> str:
    """Return the name of a diagram."""
    return ", ".join(filter(None, (SWEEPS[name], NORMS[norm])))


def rivals_text(runs: dict[str, list[Valued]]) -> str:
    """Return condition 2: the table, and in words where γ does not explain more than its rival."""
    rows, open_ = [], []
    for name, own in runs.items():
        parts = shares(own)
        for rival in list(AXES)[1:]:
            if len({AXES[rival](config) for config, _ in own}) < 2:
                continue
            less = advantage(own, rival)
            numbers = [f"{parts['γ']:.2f}", f"{parts[rival]:.2f}", str(less), str(less.mirrored)]
            rows.append([SWEEPS[name], rival, str(len(own)), *numbers, _explains(less, rival)])
            if less.side != "above":
                open_.append(f"{SWEEPS[name]}: that γ explains more than the {rival} alone is not shown.")
    header = [
        "model",
        "rival",
        "runs",
        "γ alone",
        "rival alone",
        "difference",
        "basic interval",
        "explains more",
    ]
    return "\n\n".join([markdown_table(header, rows), *open_])


def _explains(less: Interval, rival: str) -> str:
    found = {"above": "γ", "below": f"the {rival}"}.get(less.side, "undecided")
    return found if less.side == less.mirrored.side else f"{found}, borderline"


def diagram(kept: Kept, norm: str | None) -> list[Evaluated]:
    """Return the complete runs of one norm."""
    return [(config, metrics) for config, metrics in kept.runs if AXES["norm"](config) == norm]


def diagram_text(kept: Kept, norm: str | None) -> str:
    """Return a diagram's heading, its picture and its table."""
    name, runs = label(kept.name, norm), diagram(kept, norm)
    if not runs:
        return f"### {name}\n\nNo run is complete yet."
    found = measure_map(runs, MEASURES[MEASURE], "learning_rate", "init_rate")
    seeds = max(len(cell.values) for row in found.cells for cell in row)
    rows = [
        [f"{scale:g}", *(_cell(cell.values, seeds) for cell in row)]
        for scale, row in zip(found.y[1], found.cells, strict=True)
    ]
    header = ["γ \\ rate", *(f"{rate:g}" for rate in found.x[1])]
    file = picture(kept.name, norm).relative_to(PAGE.parent)
    return f"### {name}\n\n![{name}: γ against the learning rate]({file})\n\n{markdown_table(header, rows)}"


def _cell(values: Sequence[Any], seeds: int) -> str:
    estimate = over_seeds(values, SHARE, LEVEL)
    if not values:
        return "–"
    if not estimate.n:
        return "undefined"
    return estimate.brief + (f" ({estimate.n} of {seeds})" if estimate.n < seeds else "")


def page(kept: Sequence[Kept]) -> str:
    """Return the page, from what is kept alone."""
    runs = {each.name: valued(each) for each in kept}
    wanted = {each.name: list(columns([(m, 0.0) for m in each.sweep.members.values()])) for each in kept}
    every = [(each, norm) for each in kept for norm in norms(each)]
    diagrams = [diagram_text(each, norm) for each, norm in every]
    readings = "\n".join(reading(each, norm) for each, norm in every)
    shown = [HEAD, state_text(kept), SHOWS, readings]
    parts = [*shown, GROWTH, growth_text(runs, wanted), RIVALS, rivals_text(runs), DIAGRAMS]
    return "\n\n".join([*parts, *diagrams, LIMITS]) + "\n"


def norms(kept: Kept) -> list[str | None]:
    """Return the norm placements of a sweep, in the order of its file."""
    return list(dict.fromkeys(AXES["norm"](member) for member in kept.sweep.members.values()))


def picture(name: str, norm: str | None) -> Path:
    """Return the file of a diagram."""
    return FOLDER / f"{'-'.join(filter(None, (name, norm)))}.png"


def draw(kept: Kept, norm: str | None) -> None:
    """Draw one diagram, if any run of it is complete."""
    runs = diagram(kept, norm)
    if not runs:
        return
    figure, axes = new_axes(1, len(PANELS), size=(PAGE_WIDTH / len(PANELS), 2.4))
    for ax, (name, (title, limits)) in zip(axes, PANELS.items(), strict=True):
        found = measure_map(runs, MEASURES[name], "init_rate", "learning_rate")
        x, y = ("γ", found.x[1]), ("learning rate", found.y[1])
        panel = dataclasses.replace(found.panel, title=title, x=x, y=y, limits=limits).plot(ax)
        ax.set_title(title, size=TITLE)
        bar = figure.colorbar(panel.image_, ax=ax)
        for each in (ax, bar.ax):
            each.tick_params(labelsize=TEXT)
            each.xaxis.label.set_fontsize(TEXT)
            each.yaxis.label.set_fontsize(TEXT)
    redraw(figure, picture(kept.name, norm))


def keep_finished(runs: Path) -> None:
    """Keep what finished sweeps of a folder hold."""
    for name in SWEEPS:
        if (folder := runs / name).is_dir():
            write_atomically(kept_file(name), text_of(gather(name, folder)))


def main() -> None:
    """Keep what finished sweeps hold, if they are named; write the page and its figures."""
    parser = CommandLine(__doc__)
    parser.add_argument("runs", nargs="?", type=folder_with())
    runs: Path | None = parser.parse_args().runs
    if runs is not None:
        keep_finished(runs)
    kept = [read(name) for name in SWEEPS if kept_file(name).exists()]
    for each in kept:
        for norm in norms(each):
            draw(each, norm)
    write_atomically(PAGE, page(kept))


if __name__ == "__main__":
    main()
