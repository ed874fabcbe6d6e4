"""Write docs/results/emb_mlp_full.md from finished runs: python docs/update_full_results.py RUNS.

RUNS is what ``anchorflow train docs/configs/emb_mlp_full.toml --out RUNS`` made. The numbers are kept in
docs/results/emb_mlp_full.json, and the page is made from those alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from command_line import CommandLine, folder_with
from pictures import redraw

from theory import off_diagonal
from validate import Estimate, Observations, Setting, compare_runs, group_runs, measures, over_seeds
from validate.judge.stats import COSINE, SHARE, SIZE
from validate.judge.times import DATA_SETS
from validate.report.figures import draw_figures

RESULTS = Path(__file__).resolve().parent / "results"
DATA, PAGE, IMAGES = RESULTS / "emb_mlp_full.json", RESULTS / "emb_mlp_full.md", RESULTS / "emb_mlp_full"
EPOCHS = (50, 900)


def gather(settings: Sequence[Setting]) -> dict[str, Any]:
    """Return every number that the page shows."""
    provenance = settings[0].runs[0].provenance
    return {
        "command": "anchorflow train docs/configs/emb_mlp_full.toml --out runs/emb-mlp-full",
        "seeds": [run.config.seed for run in settings[0].runs],
        "commit": provenance["commit"],
        "processor": provenance["processor"],
        "versions": provenance["versions"],
        "core_minutes": sum(r.seconds for s in settings for r in s.runs) / 60,
        "curves": {s.label: [_scores(s, epoch) for epoch in (20, 100, 200, 500, 1000)] for s in settings},
        "cosines": {s.label: [_cosines(s, epoch) for epoch in EPOCHS] for s in settings},
        "predictors": {
            s.label: [
                row.as_dict()
                for row in compare_runs([s], EPOCHS)
                if row.anchor is None and row.group != "memory"
            ]
            for s in settings
            if s.init_rate == 0.8
        },
    }


def _scores(setting: Setting, epoch: int) -> dict[str, Any]:
    def at(run: Observations, kind: str, part: str) -> float:
        return next(float(line[kind][part]) for line in run.metrics if line["epoch"] == epoch)

    found: dict[str, Any] = {"epoch": epoch}
    for kind, within in (("accuracy", SHARE), ("loss", SIZE)):
        found[kind] = {
            part: over_seeds([at(run, kind, part) for run in setting.runs], within).as_dict()
            for part in DATA_SETS
        }
    return found


def _cosines(setting: Setting, epoch: int) -> dict[str, Any]:
    task = setting.task

    def over(measure: Callable[[Observations], float]) -> dict[str, Any]:
        return over_seeds([measure(run) for run in setting.runs], COSINE).as_dict()

    def memory(run: Observations) -> float:
        return float(off_diagonal(run.cosines(task.memory_anchors, epoch)).mean())

    def order(run: Observations) -> float:
        anchors = task.reasoning_anchors
        distance = off_diagonal([[abs(a - b) for b in anchors] for a in anchors])
        return float(measures(distance, off_diagonal(run.cosines(anchors, epoch)))["spearman"])

    return {"epoch": epoch, "memory": over(memory), "order": over(order)}


def page(data: dict[str, Any]) -> str:
    """Return the page, from the kept numbers alone."""
    return "\n".join(
        [
            _head(data),
            _reading(data),
            _accuracy_table(data),
            _cosine_table(data),
            _predictor_table(data),
            _figures(),
        ]
    )


def _head(data: dict[str, Any]) -> str:
    return f"""# The Emb-MLP at full length

Fig. 3B, 4 and 10 at the paper's length of 1000 epochs, γ = 0.3, 0.5, 0.8, seeds {data["seeds"]}; every
number is a mean over seeds with its 95 % interval (Student t).

```console
$ {data["command"]}
$ python docs/update_full_results.py runs/emb-mlp-full
```

{data["core_minutes"]:.0f} core minutes in all on a busy {data["processor"]},
torch {data["versions"]["torch"]}, commit `{data["commit"][:10]}`.
"""


def _reading(data: dict[str, Any]) -> str:
    """Say in words what the tables say, with their numbers."""
    scores = {(g, e["epoch"]): e["accuracy"] for g, entries in data["curves"].items() for e in entries}
    cosines = {(g, e["epoch"]): e for g, entries in data["cosines"].items() for e in entries}
    rmse = {
        (row["group"], row["epoch"], row["predictor"]): row["estimate"]
        for row in data["predictors"]["γ = 0.8"]
        if row["measure"] == "rmse"
    }

    def accuracy(gamma: str, epoch: int, part: str) -> str:
        return _text(scores[f"γ = {gamma}", epoch][part])

    def error(predictor: str) -> str:
        return _text(rmse["reasoning", 50, predictor])

    return f"""## What it says

- *The bias is there.* At γ = 0.8 and epoch 100 the held-out sums have accuracy
  {accuracy("0.8", 100, "rsn_test")}
  and memory {accuracy("0.8", 100, "mem")}; at epoch 1000 {accuracy("0.8", 1000, "rsn_test")} and
  {accuracy("0.8", 1000, "mem")}. At γ = 0.3 and epoch 100 it is {accuracy("0.3", 100, "rsn_test")} and
  {accuracy("0.3", 100, "mem")}.
- *Large initial weights do not stay at zero.* With time the test accuracy at γ = 0.3 rises to
  {accuracy("0.3", 1000, "rsn_test")}. That the held-out sums are not learned at all is a statement about the
  first hundred epochs.
- *Memory anchors do not stay aligned.* At γ = 0.8 their mean cosine is
  {_text(cosines["γ = 0.8", 50]["memory"])}
  at epoch 50 and {_text(cosines["γ = 0.8", 900]["memory"])} at epoch 900, where the paper's Fig.
  4A still has it
  high: at our learning rate, which is chosen and not the paper's, memorising has begun by then.
- *Which drive?* For the reasoning anchors at epoch 50, $P^s - \\bar P$ has an RMSE of
  {error("P^s - mean P")}, $P^s - u$ of {error("P^s - u")}, eq. 14 of {error("eq. 14")}. The frozen flow at
  matched Σ learning rate has {error("frozen flow")}: under AdamW time is not Σ learning rate. Its direction,
  "frozen flow, late", does as well as $P^s - u$.
"""


def _accuracy_table(data: dict[str, Any]) -> str:
    lines = [
        "## Accuracy and loss\n",
        "| γ | epoch | memory | reasoning, train | reasoning, test | memory loss (nats) | test loss |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for label, entries in data["curves"].items():
        for e in entries:
            cells = [
                *(_text(e["accuracy"][p]) for p in DATA_SETS),
                _text(e["loss"]["mem"]),
                _text(e["loss"]["rsn_test"]),
            ]
            lines.append(f"| {label.removeprefix('γ = ')} | {e['epoch']} | " + " | ".join(cells) + " |")
    note = """
The Emb-MLP sums embeddings, so that $(z, a, b)$ and $(z, b, a)$ are one input to it, while the memory
table gives them different labels: 55.5 % of the table is all that any weights can fit on average.
"""
    return "\n".join([*lines, note])


def _cosine_table(data: dict[str, Any]) -> str:
    lines = [
        "## Cosines\n",
        "| γ | epoch | memory anchors: mean cosine | reasoning anchors: Spearman of distance and cosine |",
        "| --- | --- | --- | --- |",
    ]
    for label, entries in data["cosines"].items():
        for e in entries:
            cells = f"{_text(e['memory'])} | {_text(e['order'])}"
            lines.append(f"| {label.removeprefix('γ = ')} | {e['epoch']} | {cells} |")
    return "\n".join([*lines, ""])


def _predictor_table(data: dict[str, Any]) -> str:
    lines = [
        "## Predicted against observed, γ = 0.8\n",
        "| anchors | epoch | predictor | Pearson | Spearman | RMSE | largest error |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    cells: dict[tuple[str, int, str], dict[str, str]] = {}
    for row in data["predictors"]["γ = 0.8"]:
        place = (row["group"], row["epoch"], row["predictor"])
        cells.setdefault(place, {})[row["measure"]] = _text(row["estimate"])
    for (group, epoch, predictor), found in sorted(cells.items(), key=lambda item: item[0][:2]):
        values = " | ".join(found[m] for m in ("pearson", "spearman", "rmse", "largest_error"))
        lines.append(f"| {group} | {epoch} | {predictor} | {values} |")
    return "\n".join([*lines, ""])


def _figures() -> str:
    shown = {
        "fig3b_accuracy": "Fig. 3B. Accuracy over epochs; shaded: 95 % interval over seeds.",
        "fig4b_label_distributions": "Fig. 4B. Label distributions of the anchors.",
        "fig4_cosines_gamma0.8_reasoning": "Fig. 4A, C. Reasoning anchors, γ = 0.8, predicted and observed.",
        "fig4_cosines_gamma0.8_memory": "Fig. 4A. Memory anchors, γ = 0.8.",
        "fig4_cosines_gamma0.3_reasoning": "Fig. 10. Reasoning anchors, γ = 0.3.",
        "fig4_cosines_gamma0.5_reasoning": "Fig. 10. Reasoning anchors, γ = 0.5.",
        "fig4_cosines_gamma0.3_memory": "Fig. 10. Memory anchors, γ = 0.3.",
        "fig4_cosines_gamma0.5_memory": "Fig. 10. Memory anchors, γ = 0.5.",
        "error_reasoning": "Error of each predictor over time, reasoning anchors.",
    }
    blocks = [f"![{text}](emb_mlp_full/{name}.png)\n\n*{text}*" for name, text in shown.items()]
    return "## Figures\n\n" + "\n\n".join(blocks) + "\n"


def _text(estimate: dict[str, Any]) -> str:
    if estimate["mean"] is None:
        return "–"
    return str(Estimate(estimate["mean"], estimate["low"], estimate["high"], estimate["n"]))


def main(folder: Path) -> None:
    """Gather the numbers, draw the figures, write the page."""
    settings = group_runs(folder)
    data = gather(settings)
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    for figure in draw_figures(settings, compare_runs(settings), EPOCHS):
        if f"{figure.name}.png" in _figures():
            redraw(figure.figure, IMAGES / f"{figure.name}.png")
    PAGE.write_text(page(data))


if __name__ == "__main__":
    parser = CommandLine(__doc__)
    parser.add_argument("runs", type=folder_with())
    main(parser.parse_args().runs)
