"""Times at the settings of narrow_settings.toml: trained, predicted from narrow networks, and compared.

python docs/theory/narrow_settings.py            print the table from what is kept
python docs/theory/narrow_settings.py --run      train and predict first: half an hour of one processor
"""

from __future__ import annotations

import json
import math
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from printing import CommandLine, print_markdown

import sim
from sim.config.run import MemberConfig
from sim.training.launch import train_members
from theory.integrate.trajectory import first_passage
from validate.predict.learning import predict_for

HERE = Path(__file__).parent
SETTINGS = tomllib.loads((HERE / "narrow_settings.toml").read_text(encoding="utf-8"))
KEPT = HERE / "narrow_settings.json"
SEEDS, STARTS = (0, 1), (1000, 1001)


def members(name: str) -> list[MemberConfig]:
    """Return the runs of a setting."""
    given: dict[str, Any] = SETTINGS["base"] | SETTINGS[name]
    names = ("epochs", "optimizer", "learning_rate", "batch_size", "weight_decay")
    training: dict[str, Any] = {key: given[key] for key in names if key in given}
    model = {key: given[key] for key in ("d_m", "d_f") if key in given}
    data = {"task": given.get("task", "emb-mlp"), "init_rates": [given["init_rate"]], "seeds": SEEDS}
    training |= {"snapshot_epochs": [], "evaluate_every": 1}
    return sim.make_run_config(data | {"training": training, "model": {"kind": "emb-mlp"} | model}).members()


def measured(name: str) -> dict[str, Any]:
    """Train and predict a setting; return the times of both, in steps, and the processor time they took."""
    found: dict[str, Any] = {"observed": [], "seconds": [], "predicted": {}, "predicted_seconds": 0.0}
    own = members(name)
    for member in own:
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            train_members([member], [Path(folder) / "run"], kernels="torch")
            found["seconds"].append(time.process_time() - began)
            lines = sim.Run.open(Path(folder) / "run").metrics
        steps = [line["step"] for line in lines]
        parts = {part: [line["accuracy"][part] for line in lines] for part in lines[0]["accuracy"]}
        found["observed"].append({part: first_passage(steps, row, 0.5) for part, row in parts.items()})
        found["end"] = steps[-1]
    began = time.process_time()
    curves = predict_for(own[0], STARTS, check_width=False)
    found["predicted_seconds"] = (time.process_time() - began) / len(STARTS)
    found["predicted"] = {part: curves.half_times(part).tolist() for part in curves.accuracy}
    return found


def rows(name: str, found: dict[str, Any]) -> list[list[str]]:
    """Return a line for each data set: mean observed and median predicted step, doublings, share of a run."""
    cost, lines = found["predicted_seconds"] / np.mean(found["seconds"]), []
    runs = [list(run.items()) for run in found["observed"]]
    for number, (part, starts) in enumerate(found["predicted"].items()):
        seen = [run[number][1] for run in runs if run[number][1] is not None]
        observed = 2 ** float(np.mean(np.log2(seen))) if len(seen) == len(runs) else math.inf
        predicted = float(np.median([math.inf if time is None else time for time in starts]))
        both = math.isfinite(observed) and math.isfinite(predicted)
        off = f"{math.log2(predicted / observed):.2f}" if both else "–"
        steps = ["–" if math.isinf(time) else f"{time:.0f}" for time in (observed, predicted)]
        lines.append([name, part, *steps, off, f"{cost:.2f}"])
    return lines


if __name__ == "__main__":
    line = CommandLine(__doc__)
    line.add_argument("--run", action="store_true", help="train and predict first")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if line.parse_args().run:
        for name in SETTINGS.keys() - {"base"} - kept.keys():
            kept[name] = measured(name)
            text = json.dumps(kept, indent=1, allow_nan=True).replace("Infinity", "null")
            KEPT.write_text(text + "\n", encoding="utf-8")
            print(name, kept[name], flush=True)
    header = ["setting", "data set", "observed", "predicted", "doublings", "cost, in runs"]
    print_markdown(header, (row for name in kept for row in rows(name, kept[name])))
