"""make bench: the speed of training and of the theory, printed and in runs/bench.json.

``python -m tests.bench train`` runs one of the benchmarks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sim.runs.files import write_json
from sim.runs.provenance import machine, now, software
from tests.bench.bench_gpu import bench_gpu
from tests.bench.bench_theory import bench_theory
from tests.bench.bench_train import bench_train

OUT = Path("runs/bench.json")
BENCHES = {"train": bench_train, "gpu": bench_gpu, "theory": bench_theory}


def main() -> None:
    """Run those that are named, or all."""
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.add_argument("name", nargs="*", choices=[[], *BENCHES], metavar="NAME", help=", ".join(BENCHES))
    results: dict[str, Any] = {"written": now(), **software(), **machine()}
    print(f"{results['processor']}, {results['versions']['torch']}, commit {results['commit']}\n")
    for name in parser.parse_args().name or BENCHES:
        results[name] = BENCHES[name]()
        OUT.parent.mkdir(exist_ok=True)
        write_json(OUT, results)
        table = Table("what", "median and range, or value", title=name, title_justify="left")
        for row in rows(results[name]):
            table.add_row(*row)
        Console().print(table)
    print(f"written to {OUT}")


def rows(found: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each number that was found, with its path."""
    if isinstance(found, dict) and "median" in found:
        yield path, f"{found['median']:.3g} [{found['min']:.3g}, {found['max']:.3g}]"
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from rows(value, f"{path}, {key}" if path else key)
    else:
        yield path, f"{found:.3g}" if isinstance(found, float) else str(found)


if __name__ == "__main__":
    main()
