"""make bench: every benchmark once, as a table and as runs/bench.json. Benchmarks are not tests."""

from __future__ import annotations

import json
from pathlib import Path

from sim.files import write_json
from sim.provenance import machine, now, software
from tests.bench import bench_flows
from tests.bench.bench_theory import bench_theory
from tests.bench.bench_train import bench_train

OUT = Path("runs/bench.json")


def main() -> None:
    results = {"written": now(), **software(), **machine(), "theory": bench_theory(), "train": bench_train()}
    print(json.dumps({k: v for k, v in results.items() if k != "versions"}, indent=2))
    OUT.parent.mkdir(exist_ok=True)
    write_json(OUT, results)
    print(f"written to {OUT}\n")
    bench_flows.main([])


if __name__ == "__main__":
    main()
