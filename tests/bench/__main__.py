"""make bench: every benchmark once, as tables and as runs/bench.json. Benchmarks are not tests.

``python -m tests.bench train`` runs one of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sim.runs.files import write_json
from sim.runs.provenance import machine, now, software
from tests.bench.bench_gpu import bench_gpu
from tests.bench.bench_scaling import bench_scaling
from tests.bench.bench_theory import bench_theory
from tests.bench.bench_train import MODELS, bench_train

OUT = Path("runs/bench.json")
BENCHES = {"train": bench_train, "scaling": bench_scaling, "gpu": bench_gpu, "theory": bench_theory}


def main() -> None:
    """Run those that are named, or all."""
    parser = argparse.ArgumentParser("python -m tests.bench", description="Time the engine and the theory.")
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all by default")
    names = parser.parse_args().name or list(BENCHES)
    if unknown := {*names} - {*BENCHES}:
        parser.error(f"no benchmark {', '.join(unknown)}; choose of {', '.join(BENCHES)}")
    results: dict[str, Any] = {"written": now(), **software(), **machine()}
    print(f"{results['processor']}, {results['versions']['torch']}, commit {results['commit']}\n")
    for name in names:
        results[name] = BENCHES[name]()
        OUT.parent.mkdir(exist_ok=True)
        write_json(OUT, results)
        print("\n".join(TABLES[name](results[name])), flush=True)
    print(f"\nwritten to {OUT}")


def training_table(found: dict[str, Any]) -> list[str]:
    """Return lines: steps per second of all processes together, and the ratios."""
    head = f"{'kernels':>12}{'steps/s':>19}{'times plain loop':>21}{'share of limit':>21}{'of own limit':>21}"
    lines = [
        f"training, {found['processes']} one-threaded processes, {found['rounds']} rounds: median [range]"
    ]
    for name in MODELS:
        own = found[name]
        rates = {kind: _cell(rate, ".0f") for kind, rate in own["steps_per_second"].items()}
        alone = f"products alone {rates['limit']}, the engine's own {rates['own limit']}"
        lines += [f"{name}: plain loop {rates['plain loop']}, {alone}", head]
        for kernels, ratios in own["ratios"].items():
            cells = [rates[kernels], *(_cell(ratio, ".2f") for ratio in ratios.values())]
            lines.append(f"{kernels:>12}" + f"{cells[0]:>19}" + "".join(f"{c:>21}" for c in cells[1:]))
    return lines


def scaling_table(found: dict[str, Any]) -> list[str]:
    """Return lines: seconds a step, and how they grow from size to size."""
    lines = ["", "cost of a step, one process, pre-norm Transformer, batch 100"]
    for axis, points in found.items():
        lines.append(f"{axis:>10}{'ms a step':>12}{'ms a member':>13}{'exponent':>10}{'share of limit':>16}")
        for point in points:
            exponent = f"{point['exponent']:.2f}" if "exponent" in point else ""
            times = (1e3 * point[key] for key in ("seconds", "seconds_per_member"))
            cells = [f"{point['size']:>10}", *(f"{ms:>12.2f}" for ms in times)]
            lines.append(f"{''.join(cells)}{exponent:>11}{point['share_of_matmul_limit']:>16.2f}")
    return lines


def gpu_table(found: dict[str, Any]) -> list[str]:
    """Return lines: member-steps per second on the GPU, or why there are none."""
    if "skipped" in found:
        return ["", f"GPU: not measured, {found['skipped']}"]
    lines = ["", f"GPU: {found['device']}"]
    for name, own in found.items():
        if name != "device":
            lines.append(
                f"{name:>12}: plain loop {_cell(own['plain loop'], '.0f')}, "
                f"engine {_cell(own['engine'], '.0f')} member-steps per second, "
                f"ratio {own['engine_over_plain_loop']:.1f}; "
                f"Fig. 3A {own['minutes_of_fig_3a']:.1f} min, {own['peak_memory_mib']:.0f} MiB"
            )
    return lines


def plain_table(found: dict[str, Any]) -> list[str]:
    """Return lines: what was timed, and each of its figures."""
    rows = [f"{name:44}{_cell(v, '.2f')}" for name, v in found.items() if name != "what"]
    return ["", found["what"], *rows]


def _cell(spread: dict[str, float], form: str) -> str:
    return f"{spread['median']:{form}} [{spread['min']:{form}}, {spread['max']:{form}}]"


TABLES = {"train": training_table, "scaling": scaling_table, "gpu": gpu_table, "theory": plain_table}


if __name__ == "__main__":
    main()
