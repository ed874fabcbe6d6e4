"""make bench: the speed of training and of the theory, printed and in runs/bench.json.

``python -m tests.bench train`` runs one of the benchmarks.
"""

import argparse
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import theory
from sim.runs.files import write_json
from sim.runs.provenance import machine, now, software
from tests.bench.bench_train import bench_gpu, bench_train, spread
from tests.theory.test_held_out_functions import LARGE
from theory import EmbMLPParameters, Task

OUT = Path("runs/bench.json")
VOCABULARY, N_TOKENS = 50_257, 1_000_000


def bench_theory(rounds: int = 5) -> dict[str, Any]:
    """Return milliseconds of each call: medians with their range."""
    found: dict[str, Any] = {}
    for name, call in calls().items():
        call()
        found[name] = spread([1e3 * each for each in timeit.repeat(call, number=1, repeat=rounds)])
    return found


def calls() -> dict[str, Callable[[], object]]:
    """Return the calls that are timed, with everything that they need at hand."""
    task, rng = Task.paper(length=3), np.random.default_rng(0)
    population = theory.count_population(task, theory.draw_tables(task, rng))
    start = EmbMLPParameters.draw(task.vocab_size, d_m=200, d_f=512, init_rate=0.8, rng=rng)
    # Independent Zipf tokens have more distinct pairs than any text: the hardest to count.
    weights = 1 / np.arange(1, VOCABULARY + 1)
    tokens = rng.choice(VOCABULARY, size=N_TOKENS, p=weights / weights.sum())
    texts = np.split(tokens, range(200, N_TOKENS, 200))
    return {
        "whole label table, paper": lambda: theory.label_table(Task.paper()),
        "one anchor, q = 200, N_Z = 100 000": lambda: theory.label_distribution(LARGE, 15),
        "population flow to Σ learning rate 1": lambda: theory.population_flow(population, start, [0.0, 1.0]),
        f"counting {N_TOKENS:,} tokens of {VOCABULARY:,}": lambda: theory.corpus_counts(texts, VOCABULARY),
    }


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
