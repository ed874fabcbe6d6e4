"""The findings in the report's page: claims, figures, error budget, comparison, equations."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Any

from validate.claims.presentation import (
    condition_rows,
    headline,
    is_measured,
    measured,
    qualification,
    states_text,
)
from validate.html_parts import details, heading, note, table, text_table
from validate.predictors import predictor_notes
from validate.rungs import LEFT_OUT, STEPS, WHOLE

if TYPE_CHECKING:
    from validate.claims import Outcome
    from validate.report import Report
    from validate.report_figures import ReportFigure

_COLOURS = {"holds": "yes", "holds in part": "part", "does not hold": "no", "not tested": "note"}
_PIXELS_PER_INCH = 96
"""How large figures are shown: a phone scrolls sideways over wide ones, and shows a panel at a time."""


def summary(report: Report) -> str:
    """Return what the runs are, in a sentence."""
    runs = [run for setting in report.settings for run in setting.runs]
    labels = ", ".join(f"{s.label} ({len(s.runs)} seed{'s' * (len(s.runs) > 1)})" for s in report.settings)
    epochs = sorted({run.config.training.epochs for run in runs})
    length = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
    minutes = sum(run.provenance["wall_seconds"] for run in runs) / 60
    return (
        f"<p>{len(runs)} run{'s' * (len(runs) > 1)}: {escape(labels)}; {length} epochs; "
        f"{minutes:.1f} minutes of training in all.</p>"
    )


def verdicts_section(report: Report) -> str:
    """Return the verdicts on statements of the caller's own, if there are any."""
    if not report.outcomes:
        return ""
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
                f'<span class="{_COLOURS[verdict]}">{verdict}</span>'
                + ("" if o.clear else " (interval crosses the threshold)"),
            ]
        )
    header = ["claim", "γ", "measure at the last epoch", "threshold", "mean [95 %]", "seeds", "verdict"]
    small = "Thresholds are fixed in the code; the mean over seeds decides, the interval says how surely."
    return "<h2>Verdicts</h2>" + note(small) + table(header, rows, cards=True)


def claims_section(report: Report) -> str:
    """Return the ledger: what these runs say of the paper's claims, and what they do not."""
    claims = report.claims()
    tested = [c for c in claims if is_measured(c)]
    rest = [c for c in claims if c not in tested]
    small = (
        "The ledger's claims, judged by these runs alone with the ledger's thresholds. A claim holds if all "
        "of its conditions are met; a met condition is void if its control, which has to fail, does not. "
        "Conditions whose runs are not among these are not tested. Not clear: an interval over seeds crosses "
        "its threshold, or there is one seed and no interval."
    )
    parts = [heading("claims", "The paper's claims"), note(small), _stand_ins(report)]
    if tested:
        header = ["", "claim", "verdict", "conditions", "first measured", "threshold", "mean [95 %]", "n"]
        parts.append(table(header, [_claim_row(c) for c in tested], cards=True))
        parts.append(details("every condition, control and note", "".join(map(_conditions, tested))))
    else:
        parts.append("<p>These runs answer none of the claims.</p>")
    untested = [[str(c["number"]), c["statement"], c["conditions"][0]["missing"]] for c in rest]
    listed = text_table(["", "claim", "why not"], untested, cards=True)
    return "".join(parts) + (details(f"{len(rest)} claims not tested", listed) if rest else "")


def _stand_ins(report: Report) -> str:
    """Say where runs stand for a study with other settings than its own."""
    measured_on = {o.condition.needs.study for o in _measured(report) if o.condition.needs}
    lines = [
        f"{m.study}{f' ({m.variant})' if m.variant else ''}: {'; '.join(m.differences)}"
        for m in report.matches
        if m.differences and m.study in measured_on
    ]
    if not lines:
        return ""
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        "<p><strong>Other settings than those for which the thresholds were fixed:</strong></p>"
        f"<ul>{listed}</ul>"
    )


def _measured(report: Report) -> list[Outcome]:
    return [o for finding in report.findings for o in finding.outcomes if not o.missing]


def _claim_row(claim: dict[str, Any]) -> list[str]:
    what, threshold, estimate, n = measured(headline(claim))
    name = claim["name"] + (" (opposing)" if claim["opposing"] else "")
    return [
        str(claim["number"]),
        f"<strong>{escape(name)}</strong><br>{escape(claim['statement'])}",
        f'<span class="{_COLOURS[claim["verdict"]]}">{claim["verdict"]}</span>{qualification(claim)}',
        states_text(claim),
        *(escape(cell) for cell in (what, threshold, estimate, n)),
    ]


def _conditions(claim: dict[str, Any]) -> str:
    header = ["state", "role", "measure", "threshold", "mean [95 %]", "n", "runs", "why"]
    title = f"<h3>{claim['number']}. {escape(claim['name'])}</h3>"
    return title + text_table(header, condition_rows(claim), cards=True)


def figures_section(report: Report) -> str:
    """Return every figure, and the figures of the paper that these runs cannot fill."""
    drawn = "".join(_figure(figure) for figure in report.figures)
    rows = [[f"Fig. {f.number}", f.title, f.reason] for f in report.not_drawn]
    rest = details(
        f"{len(rows)} figures of the paper not drawn", text_table(["", "figure", "why not"], rows, cards=True)
    )
    return heading("figures", "Figures") + drawn + (rest if rows else "")


def _figure(figure: ReportFigure) -> str:
    data = base64.b64encode(figure.png).decode()
    width = round(_PIXELS_PER_INCH * figure.figure.get_figwidth())
    image = f'<img width="{width}" alt="{escape(figure.alt)}" src="data:image/png;base64,{data}">'
    title = f"<strong>{escape(figure.title)}.</strong> " if figure.title else ""
    listed = "".join(f"<li>{escape(line)}</li>" for line in figure.numbers)
    numbers = details("its numbers", f'<ul class="note">{listed}</ul>') if listed else ""
    caption = f"<figcaption>{title}{escape(figure.caption)}</figcaption>"
    return f'<figure><div class="scroll picture">{image}</div>{caption}{numbers}</figure>'


def error_budget_section(report: Report) -> str:
    """Return what each idealisation of the theory costs at the last snapshot."""
    title = heading("budget", "Error budget")
    if not report.distances:
        return title + note("The ladder of flows is the Emb-MLP's, and none of these runs is one.")
    last = report.last_epochs()
    steps = [[f"{lower} → {upper}", cause] for lower, upper, cause in (*STEPS, *WHOLE)]
    parts = [title, text_table(["from → to", "what lies between"], steps, cards=True), note(LEFT_OUT)]
    for setting, epoch in last.items():
        rows = [
            [d.group, d.step, str(d.rmse), str(d.largest)]
            for d in report.distances
            if (d.setting, d.epoch) == (setting, epoch)
        ]
        if rows:
            parts.append(f"<h3>{escape(setting)}, epoch {epoch}</h3>")
            parts.append(text_table(["anchors", "from → to", "RMSE", "largest"], rows, numbers=2))
    return "".join(parts)


def comparison_section(report: Report) -> str:
    """Return predictors against observation at the last epoch, and what the predictors are."""
    small = (
        "Over all off-diagonal pairs of each group at the last epoch; mean over seeds with its 95 % interval "
        "(Student t). All other epochs, and every anchor's row, are in report.json. A dash: undefined, since "
        "one side is constant."
    )
    parts = [heading("comparison", "Predicted against observed cosine similarity"), note(small)]
    header = ["anchors", "predictor", "Pearson", "Spearman", "RMSE", "largest error"]
    for setting in report.settings:
        parts.append(f"<h3>{escape(setting.label)}</h3>")
        parts.append(text_table(header, report.final_table(setting.label), numbers=4))
    compared = {row.predictor for row in report.rows}
    known = [[name, where] for name, where in predictor_notes() if name in compared]
    return "".join(parts) + "<h3>Predictors</h3>" + text_table(["predictor", "what it is"], known, cards=True)


def equations_section(report: Report) -> str:
    """Return the equations behind the predictors, with the largest error that the tests saw."""
    rows = [
        [
            row["equation"],
            row["says"],
            ", ".join(row["functions"]),
            f'anchorflow derive "{row["derivation"]}"' if row["derivation"] else "–",
            "–" if row["largest_error"] is None else f"{row['largest_error']:.1e}",
            row["standing"],
        ]
        for row in report.equations()
    ]
    header = ["equation", "says", "function", "derivation", "largest error seen", "what that error means"]
    small = "The errors are the largest that the package's own tests recorded, not errors on these runs."
    return heading("equations", "Equations used") + note(small) + text_table(header, rows, cards=True)
