"""Tasks and rules, exact and sampled label distributions, Theorem 1, bound (13) and Section 3's shapes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.golden.labels import tasks
from theory import (
    Expression,
    Lookup,
    Mapping,
    Shift,
    Sum,
    Task,
    Window,
    cooccurrence_matrix,
    cosine_matrix,
    count_population,
    count_sample,
    draw_tables,
    enumerate_population,
    eq14_embedding,
    expected_cooccurrence,
    expected_token_label_matrix,
    finite_sample_cosine,
    finite_sample_spread,
    fit_exponent,
    fit_width,
    gaussian_embedding,
    gaussian_shape,
    inner_product_bound,
    inner_product_difference,
    label_distribution,
    label_distribution_embedding,
    labels_of,
    last_position_distribution,
    last_position_matrix,
    last_position_ratio,
    marginal_distribution,
    normal_distance,
    off_diagonal,
    principal_components,
    reasoning_anchor_distribution,
    sample_label_distribution,
    sample_labels,
    token_label_counts,
    token_label_matrix,
    token_ratio,
)

RULES = {
    "sum": Sum(),
    "shift": Shift({2: 1, 3: -2, 5: 4}),
    "lookup": Lookup(),
    "lookup range": Lookup(40, 52),
    "window": Window(),
    "affine": Expression("(key * a1 + a2) % 61"),
    "branches": Expression(
        "key + g(a1) if a1 < a2 or key % 3 == 0 else abs(key - 2 * a2)", {2: 4, 3: 0, 5: 9}
    ),
    "long": Expression("(key ** 40 * a1 ** a2 - 7 ** 30) % 53"),
    "total": Expression("min(max(key + total // 2, 12), 60)"),
    "chain": Expression("-1 * -key if not 2 < a1 <= a2 != 5 else key + a1 * a2 - (key // -a2) % 5"),
    "function": lambda key, anchors: (key * anchors[0] + max(anchors)) % 63,
}


def task_with(name: str) -> Task:
    """Return a small task with a rule."""
    held_out = set() if name.startswith(("lookup", "window")) else {(2, 5), (3, 3)}
    mapping = Mapping((2, 3, 5), RULES[name], name, held_out)
    return Task(keys=range(20, 33), n_anchors=2, length=4, vocab_size=64, mappings=[mapping])


def text(value: str) -> list[int]:
    """Return the bytes of a text."""
    return list(value.encode())


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    yield from of_rules()
    yield from of_statistics()
    yield from of_samples()
    yield from of_shapes()


def of_rules() -> Iterator[tuple[str, Any]]:
    """Yield what each rule says of its labels."""
    for name in RULES:
        task = task_with(name)
        mapping = task.mappings[0]
        yield f"{name}: TOML", text(task.to_toml())
        yield f"{name}: TOML read again", Task.from_toml(task.to_toml()) == task
        population = enumerate_population(task)
        tables = draw_tables(task, np.random.default_rng(1))
        yield f"{name}: sequences", population.sequences
        yield f"{name}: held out", population.held_out
        yield f"{name}: labels", labels_of(task, population, tables)
        for held_out in (False, True):
            exact = label_distribution(task, [3, 20], held_out=held_out, exact=True)
            pairs = [(f.numerator, f.denominator) for row in exact for f in row]
            yield f"{name}: fractions, held_out={held_out}", pairs
            for role in ("anchor", "key", "noise"):
                row = label_distribution(task, [2, 21], role=role, held_out=held_out)
                yield f"{name}: {role}, held_out={held_out}", row
            spread = [finite_sample_spread(task, 3, n_sequences=n, held_out=held_out) for n in (None, 900)]
            both = [finite_sample_cosine(task, 2, 3, n_sequences=n, held_out=held_out) for n in (None, 900)]
            yield f"{name}: finite sample, held_out={held_out}", [*spread, *(b.cosine for b in both)]
            yield f"{name}: inner, held_out={held_out}", [both[1].inner, *both[1].signal, *both[1].spread]
            drawn = sample_label_distribution(
                task, 3, np.random.default_rng(2), n_samples=500, held_out=held_out
            )
            yield f"{name}: drawn, held_out={held_out}", [drawn.shares, drawn.standard_error]
        counts = count_population(task, tables)
        yield f"{name}: count population", counts.label_distributions
        yield f"{name}: its data sets", [counts.data_sets[k] for k in sorted(counts.data_sets)]
        yield f"{name}: label range", [task.label_range(mapping).start, task.label_range(mapping).stop]


def of_statistics() -> Iterator[tuple[str, Any]]:
    """Yield tables over all tokens."""
    for name, task in tasks().items():
        yield f"{name}: TOML", text(task.to_toml())
        for held_out in (False, True):
            yield f"{name}: C, held_out={held_out}", expected_token_label_matrix(task, held_out=held_out)
            yield f"{name}: S, held_out={held_out}", expected_cooccurrence(task, held_out=held_out)
            yield f"{name}: marginal, held_out={held_out}", marginal_distribution(task, held_out=held_out)
            if task.n_anchors > 1:
                row = [last_position_ratio(task, s, held_out=held_out) for s in range(task.vocab_size)]
                yield f"{name}: last position, held_out={held_out}", row
                rows = [last_position_distribution(task, s, held_out=held_out) for s in (5, 6, task.keys[0])]
                yield f"{name}: at the last position, held_out={held_out}", rows
                yield (
                    f"{name}: matrix of the last position, held_out={held_out}",
                    last_position_matrix(task, held_out=held_out),
                )
    ratios = [token_ratio(tasks()["held out"], 21, role=r, exact=True) for r in ("key", "noise", "any")]
    yield "exact ratios", [(f.numerator, f.denominator) for f in ratios]
    closed = reasoning_anchor_distribution(12, 4, 3)
    yield "eq. 22 in closed form", [(f.numerator, f.denominator) for f in closed]


def of_samples() -> Iterator[tuple[str, Any]]:
    """Yield statistics of samples."""
    rng = np.random.default_rng(3)
    sequences, labels = rng.integers(30, size=(400, 5)), rng.integers(30, size=400)
    yield "sample: counts", token_label_counts(sequences, labels, 30)
    yield "sample: C", token_label_matrix(sequences, labels, 30)
    yield "sample: S", cooccurrence_matrix(sequences, 30)
    reduced = count_sample(sequences, labels, 30)
    yield "sample: its counts", reduced.left
    yield "sample: C of its counts", reduced.token_label_matrix()
    large = Task(
        keys=range(300, 600),
        n_anchors=3,
        length=9,
        vocab_size=900,
        mappings=[
            Mapping(range(1, 60), Expression("(key * a1 + a2 * a3) % 499"), "rule", {(1, 2, 3), (4, 4, 4)}),
            Mapping(range(60, 70), Window(), "window"),
        ],
    )
    for token, role in ((4, "any"), (61, "anchor"), (320, "key"), (320, "noise"), (320, "any")):
        drawn = sample_label_distribution(large, token, rng, n_samples=3000, role=role, held_out=True)
        yield f"large: {token} as {role}", [drawn.shares, drawn.standard_error]
    sampled = sample_labels(large, [1, 4, 61, 330], rng, n_samples=2000, held_out=True)
    found = sampled.estimate(lambda m: m.centred())
    yield "large: inner products", found.value
    yield "large: their errors", found.standard_error
    centred = sampled.estimate(lambda m: m.centred(np.full(4, 0.25)))
    yield "large: about their mean", [centred.value, centred.standard_error]


def of_shapes() -> Iterator[tuple[str, Any]]:
    """Yield the shapes of Section 3."""
    paper = Task.paper()
    shifts = tasks()["shifts"]
    for task, anchor in ((paper, 12), (shifts, 2), (shifts, 6)):
        shape = gaussian_shape(task, anchor, learning_rate=0.5, max_lost_mass=0.3)
        constants = [shape.C1, shape.C2, shape.mu, shape.sigma_P, shape.skewness, shape.excess_kurtosis]
        yield f"Theorem 1: constants of {anchor}", [*constants, shape.lost_mass]
        apart = normal_distance(task, anchor, max_lost_mass=0.3)
        values = [apart.kolmogorov, apart.predicted_kolmogorov, apart.total_variation, apart.l2]
        yield f"distance from the normal of {anchor}", values
    anchors = list(paper.reasoning_anchors)
    for q in (2, 5, 9):
        summed = Task(
            keys=range(21, 121), reasoning_anchors=range(11, 21), n_anchors=q, length=q + 1, vocab_size=400
        )
        bound = inner_product_bound(summed, anchors, init_rate=0.8)
        values = [bound.shape, bound.noise, bound.shape_leading, bound.noise_leading, bound.total]
        yield f"bound (13) at q = {q}", values
    noisy = gaussian_embedding(paper, anchors, init_rate=0.8, rng=np.random.default_rng(4))
    exact = label_distribution_embedding(paper, anchors)
    yield "eq. 12 with noise", noisy
    yield "eq. 30", exact
    yield "eq. 13", inner_product_difference(noisy, exact)
    eq14 = eq14_embedding(paper, [*anchors, 30, 31])
    yield "eq. 14", eq14
    yield "eq. 14 of another width", eq14_embedding(paper, anchors, width=30.0, d_m=50)
    yield "fitted width", fit_width(paper, anchors, cosine_matrix(exact))
    yield "pairs", off_diagonal(cosine_matrix(eq14, exact[:, :200])[:10])
    components = principal_components(noisy, 3)
    yield "components", components.coordinates
    yield "explained", components.explained
    fit = fit_exponent([1, 2, 4, 8, 16], [3, 5, 11, 19, 42])
    yield "exponent", [fit.value, fit.low, fit.high]
