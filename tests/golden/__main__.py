"""``python -m tests.golden [AREA ...]`` compares; ``--record AREA ...`` writes the record."""

import argparse
import json
import sys

from tests.golden import FOLDER, areas, compute, differences, summary

parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
parser.add_argument("areas", nargs="*", default=areas(), metavar="AREA")
parser.add_argument("--record", action="store_true", help="write the record instead of comparing")
options = parser.parse_args()
if options.record:
    for area in options.areas:
        entries = compute(area)
        lines = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(summary(value))}" for name, value in sorted(entries.items())
        )
        (FOLDER / f"{area}.json").write_text(f"{{\n{lines}\n}}\n")
        print(f"{area}: {len(entries)} entries recorded")
    sys.exit(0)
found = [line for area in options.areas for line in differences(area)]
print("\n".join(found) or f"equal: {', '.join(options.areas)}")
sys.exit(bool(found))
