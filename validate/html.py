"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from sim.config import sources
from validate.predictors import EQUATIONS, predictor_notes

if TYPE_CHECKING:
    from validate.report import Report, ReportFigure

_STYLE = """
:root { color-scheme: light; font-family: system-ui, sans-serif; line-height: 1.45; color: #1b1f24; }
body { max-width: 62rem; margin: 0 auto; padding: 1rem; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #d0d7de; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid #d8dee4; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { font-size: .87rem; color: #424a53; }
.yes { color: #11632d; font-weight: 600; } .no { color: #a40e26; font-weight: 600; }
details summary { cursor: pointer; }
pre { font-size: .8rem; overflow-x: auto; background: #f6f8fa; padding: .6rem; }
"""


def render(report: Report) -> str:
    """Return the page; it opens without a network."""
    body = [
        f"<h1>{escape(report.title)}</h1>",
        _summary(report),
        _verdicts(report) if report.outcomes else "",
        "<h2>Figures</h2>",
        *(_figure(f) for f in report.figures),
        "<h2>Predicted against observed cosine similarity</h2>",
        "<p>Over all off-diagonal pairs of each group at the last epoch; mean over seeds with its 95 % "
        "interval (Student t). All other epochs, and every anchor's row, are in report.json. "
        "A dash: undefined, since one side is constant.</p>",
        *(_comparison(report, setting.label) for setting in report.settings),
        _predictors(),
        _equations(),
        _configuration(report),
        _provenance(report),
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style>"
        '<link rel="icon" href="data:,">'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """Return a table; the last ``numbers`` columns are aligned as numbers."""
    first = len(header) - numbers
    head = "".join(f"<th>{h}</th>" for h in header)
    lines = [
        "<tr>"
        + "".join(
            f'<td class="number">{c}</td>' if i >= first else f"<td>{c}</td>" for i, c in enumerate(row)
        )
        + "</tr>"
        for row in rows
    ]
    content = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table>{content}</table></div>'


def _summary(report: Report) -> str:
    runs = [run for setting in report.settings for run in setting.runs]
    labels = ", ".join(escape(s.label) for s in report.settings)
    minutes = sum(run.provenance["wall_seconds"] for run in runs) / 60
    return (
        f"<p>{len(runs)} runs: {labels}; {len(report.settings[0].runs)} seeds each; "
        f"{runs[0].config.training.epochs} epochs; {minutes:.1f} core minutes in all.</p>"
    )


def _verdicts(report: Report) -> str:
    rows = []
    for o in report.outcomes:
        c = o.condition
        verdict = "holds" if o.holds else "does not hold"
        rows.append(
            [
                escape(o.claim.statement),
                f"{c.init_rate:g}",
                escape(c.what),
                escape(f"{c.relation} {c.threshold:g}"),
                escape(str(o.estimate)),
                f"{o.seeds_met}/{o.estimate.n}",
                f'<span class="{"yes" if o.holds else "no"}">{verdict}</span>'
                + ("" if o.clear else " (interval crosses the threshold)"),
            ]
        )
    header = ["claim", "γ", "measure at the last epoch", "threshold", "mean [95 %]", "seeds", "verdict"]
    note = (
        "<p>Thresholds are fixed in the code; the mean over seeds decides, the interval says how surely.</p>"
    )
    return "<h2>Verdicts</h2>" + note + _table(header, rows)


def _figure(figure: ReportFigure) -> str:
    data = base64.b64encode(figure.png).decode()
    text = escape(figure.caption)
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _comparison(report: Report, setting: str) -> str:
    rows = [[escape(cell) for cell in row] for row in report.final_table(setting)]
    header = ["anchors", "predictor", "Pearson", "Spearman", "RMSE", "largest error"]
    return f"<h3>{escape(setting)}</h3>" + _table(header, rows, numbers=4)


def _predictors() -> str:
    rows = [[escape(name), escape(where)] for name, where in predictor_notes()]
    return "<h2>Predictors</h2>" + _table(["predictor", "what it is"], rows)


def _equations() -> str:
    rows = [[escape(e), escape(what), f"<code>{escape(f)}</code>"] for e, what, f in EQUATIONS]
    return "<h2>Equations used</h2>" + _table(["equation", "what", "function"], rows)


def _configuration(report: Report) -> str:
    config = report.settings[0].runs[0].config
    values = config.model_dump(mode="json")
    rows = []
    for place, source in sources(config).items():
        section, key = place.split(".")
        rows.append([escape(place), escape(json.dumps(values[section][key])), escape(source)])
    note = (
        "<p>Of the first run; γ and seed vary. Source: stated in the paper, taken from a sibling paper "
        "of the group, chosen by us, or set by the user.</p>"
    )
    task = f"<details><summary>task</summary><pre>{escape(config.build_task().to_toml())}</pre></details>"
    return "<h2>Configuration</h2>" + note + _table(["setting", "value", "source"], rows) + task


def _provenance(report: Report) -> str:
    blocks = []
    for run in [run for setting in report.settings for run in setting.runs]:
        shown = {k: v for k, v in run.provenance.items() if k != "sources"}
        text = escape(json.dumps(shown, indent=2))
        blocks.append(f"<details><summary>{escape(run.path.name)}</summary><pre>{text}</pre></details>")
    return "<h2>Provenance</h2>" + "".join(blocks)
