"""Put the demo's table and picture into README.md: python docs/update_readme.py runs/demo.

Every number of the README's results comes from the report.json that ``make demo`` wrote.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from command_line import CommandLine, folder_with
from marked import replaced

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "results" / "demo.json"
PICTURE = ROOT / "docs" / "images" / "demo_overview.png"
TABLE = "demo table"


def keep(report: dict[str, Any]) -> dict[str, Any]:
    """Return what the README shows, with where it comes from."""
    runs = report["runs"]
    provenance = runs[0]["provenance"]
    return {
        "command": "make demo",
        "verdicts": report["verdicts"],
        "seeds": len({run["config"]["seed"] for run in runs}),
        "epochs": runs[0]["config"]["training"]["epochs"],
        "core_seconds": round(sum(run["provenance"]["wall_seconds"] for run in runs), 1),
        "commit": provenance["commit"],
        "processor": provenance["processor"],
        "versions": provenance["versions"],
    }


def table(kept: dict[str, Any]) -> str:
    """Return the verdicts as a Markdown table with its source below."""
    lines = [
        "| claim | γ | measure | threshold | mean [95 %] | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for v in kept["verdicts"]:
        e = v["estimate"]
        verdict = v["verdict"]
        measure = v["measure"].replace("|", "\\|")
        estimate = f"{e['mean']:.3f} [{e['low']:.3f}, {e['high']:.3f}]"
        bound = f"{v['relation']} {v['threshold']:g}"
        lines.append(f"| {v['claim']} | {v['init_rate']:g} | {measure} | {bound} | {estimate} | {verdict} |")
    source = (
        f"\n`{kept['command']}`: {kept['seeds']} seeds for each γ, {kept['epochs']} epochs, "
        f"{kept['core_seconds']:.0f} core seconds on an {kept['processor']}, "
        f"torch {kept['versions']['torch']}."
    )
    return "\n".join(lines) + "\n" + source


def main(demo: Path) -> None:
    """Renew the kept numbers, the picture and the README."""
    kept = keep(json.loads((demo / "report.json").read_text()))
    KEPT.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    PICTURE.parent.mkdir(exist_ok=True)
    shutil.copyfile(demo / "figures" / "overview.png", PICTURE)
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(), TABLE, table(kept)))


if __name__ == "__main__":
    parser = CommandLine(__doc__)
    parser.add_argument("demo", type=folder_with("report.json"))
    main(parser.parse_args().demo)
