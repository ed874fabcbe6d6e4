"""Every measure of the ledger on the kept runs, and of ``compare`` and ``demo`` on short runs in float64."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim import make_run_config, train
from tests.golden import said
from validate import answers, compare_runs, group_runs, judge_demo
from validate.predict.predictors import FITTED_WIDTH

RTOLS = {"width": 1e-6}
"""Widths are fitted to 1e-6; kinds of processor differ by 1e-8 to 1e-7."""
TRAINED = {
    "task": "emb-mlp",
    "init_rates": [0.3, 0.8],
    "seeds": [0, 1],
    "training": {"epochs": 6, "dtype": "float64", "snapshot_epochs": [3], "learning_rate": 1e-3},
}


def measured() -> Iterator[tuple[str, Any]]:
    """Yield the values of each measure of the ledger, one row a seed, of all runs that a claim asks for."""
    claims = json.loads(said("claims", "--all", "--json"))["claims"]
    by_measure = defaultdict[str, dict[str, Any]](dict)
    for condition in (c for claim in reversed(claims) for c in reversed(claim["conditions"])):
        if condition["missing"] is None:
            by_measure[condition["measure"]][condition["runs"]] = condition["values"]
    yield from by_measure.items()


def entries() -> Iterator[tuple[str, Any]]:
    yield from measured()
    with tempfile.TemporaryDirectory() as folder:
        runs = train(make_run_config(TRAINED), Path(folder) / "runs", workers=1)
        for finding in judge_demo(group_runs(runs)):
            for outcome in finding.conditions:
                yield f"demo: {finding.name}, {outcome.measure}", outcome.values
        for answer in answers(runs):
            for outcome in answer.conditions:
                yield f"compare: {outcome.measure}", outcome.values
        rows = compare_runs(runs).to_records()
        # A width is fitted to 1e-6, so that its sixth digit depends on the machine.
        for predictor in dict.fromkeys(r["predictor"] for r in rows if r["predictor"] != FITTED_WIDTH):
            own = [
                [row[key] for key in ("mean", "low", "high")] for row in rows if row["predictor"] == predictor
            ]
            yield f"comparison: {predictor}", own
