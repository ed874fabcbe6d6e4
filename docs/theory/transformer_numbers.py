"""Print the numbers of docs/theory/transformer.md: python docs/theory/transformer_numbers.py [section ...].

Sections: lemma1 flow theorem1 value cliff. Fixed seeds, one thread, about half a minute for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from printing import print_sections

import theory as th
from theory.arrays import FloatArray


def lemma1() -> None:
    print("## Lemma 1: d_m = 200, d_k = 64, L = 9; 2000 drawn models each")
    print(
        "source      gamma  logit std  drawn/predicted    P(|A_9j - 1/9| <= 0.01)  drawn   all rows, proven"
    )
    rng, n = np.random.default_rng(0), 2000
    for source in ("embedding", "position", "layer_norm"):
        for gamma in (0.3, 0.5, 0.8):
            std = th.attention_logit_std(200, gamma, source=source)
            rows = th.sample_attention_rows(200, 64, gamma, 9, n, rng, source=source)
            squares = np.log(rows[:, 0] / rows[:, 1]) ** 2 / 2
            ratio = squares.mean() ** 0.5 / std
            half = 1.96 * squares.std() / n**0.5 / squares.mean() / 2 * ratio
            p = th.average_attention_probability(0.01, 200, gamma, 9, source=source)
            inside = (np.abs(rows[:, 0] - 1 / 9) <= 0.01).mean()
            bound = th.average_attention_bound(0.01, 200, gamma, 9, source=source)
            print(
                f"{source:11} {gamma:.1f}    {std:8.2e}   {ratio:.3f} +- {half:.3f}    "
                f"{p:.4f}                   {inside:.4f}  {bound:.5f}"
            )
    print("smallest gamma for epsilon   proven (embedding)  first order  proven (layer_norm)")
    for tolerance in (0.1, 0.01, 0.001):
        proven = th.smallest_init_rate(tolerance, 200, 9)
        first = th.smallest_init_rate(tolerance, 200, 9, proven=False)
        normed = th.smallest_init_rate(tolerance, 200, 9, source="layer_norm")
        print(f"{tolerance:<28} {proven:.3f}               {first:.3f}        {normed:.3f}")


def flow() -> None:
    print("## Propositions 2, 3: relative error against the exact flow of the enumerated population")
    task = th.Task(
        keys=range(5, 9), reasoning_anchors=[3, 4], memory_anchors=[1, 2], n_anchors=2, length=5,
        vocab_size=20,
    )  # fmt: skip
    population = th.enumerate_population(task)
    labels = th.labels_of(task, population, th.draw_tables(task, np.random.default_rng(0)))
    distributions = np.eye(20)[labels]
    distributions[np.isin(population.sequences, task.memory_anchors).any(axis=1)] = (
        np.isin(range(20), task.keys) / 4
    )
    C, C_last = th.expected_token_label_matrix(task), th.last_position_matrix(task)
    tokens = {"reasoning anchor": 3, "memory anchor": 1, "key": 6}
    scales = (1e-4, 1e-3, 1e-2)
    errors: dict[str, list[list[np.floating]]] = {kind: [] for kind in tokens}
    for scale in scales:
        p = _parameters(20, scale, np.random.default_rng(1))
        observed = th.lemma3_flow(p, population.sequences, distributions)
        W = p.W_f1 @ p.W_f2, p.W_V @ p.W_O
        exact, printed = th.transformer_drive(C, C_last, 5, *W), th.paper_transformer_drive(C, 5, *W)
        for kind, s in tokens.items():
            norm = np.linalg.norm(observed[s])
            pair = [np.linalg.norm(form[s] - observed[s]) / norm for form in (exact, printed)]
            errors[kind].append(pair)
            print(f"scale {scale:.0e}  {kind:17} exact form {pair[0]:.5f}  printed form {pair[1]:.4f}")
    for kind, pairs in errors.items():
        orders = [th.fit_exponent(scales, column).value for column in np.array(pairs).T]
        print(f"order in the scale, {kind}: exact form {orders[0]:.3f}, printed form {orders[1]:.3f}")
    _paper_flow()


def _parameters(d: int, scale: float, rng: np.random.Generator) -> th.OneLayerParameters:
    shapes = [(d, d), (d, 4), (d, 4), (d, 4), (4, d), (d, 8), (8, d)]
    scales = [scale, scale, scale, 1, 1, 1, 1]
    drawn = [s * rng.standard_normal(x) / x[0] ** 0.5 for s, x in zip(scales, shapes, strict=True)]
    return th.OneLayerParameters(*drawn)


def _paper_flow() -> None:
    task, rng = th.Task.paper(), np.random.default_rng(2)
    print("paper's task: rho_s of an anchor and of a key, 1/L:", end=" ")
    print(f"{th.last_position_share(task, 15):.4f} {th.last_position_share(task, 50):.4f} {1 / 9:.4f}")
    C, C_last = th.expected_token_label_matrix(task), th.last_position_matrix(task)
    keys, anchors = list(task.keys), list(task.reasoning_anchors)
    for gamma in (0.3, 0.5, 0.8):
        V, F1 = rng.standard_normal((200, 64)) * 200**-gamma, rng.standard_normal((200, 512)) * 200**-gamma
        V, F1 = V @ rng.standard_normal((64, 200)) * 64**-gamma, F1 @ rng.standard_normal((512, 200))
        W_f = F1 * 512**-gamma
        exact, printed = th.transformer_drive(C, C_last, 9, W_f, V), th.paper_transformer_drive(C, 9, W_f, V)
        line = f"gamma {gamma}: mean cosine of the drive"
        for name, form in (("exact", exact), ("printed", printed)):
            for kind, rows in (("keys", keys), ("reasoning anchors", anchors)):
                line += f"; {name}, {kind} {th.off_diagonal(th.cosine_matrix(form[rows])).mean():.4f}"
        ratio = np.linalg.norm(printed[anchors]) / np.linalg.norm(exact[anchors])
        print(f"{line}; size printed/exact, reasoning anchors {ratio:.3f}")


def theorem1() -> None:
    task = th.Task.paper()
    print("## Theorem 1\npaper's task, s = 15:", th.gaussian_shape(task, 15))
    print(th.normal_distance(task, 15))
    for name, rows in (
        ("label distribution", th.label_distribution_embedding(task, range(11, 21))),
        ("eq. 12", th.gaussian_embedding(task, range(11, 21))),
        ("eq. 14", th.eq14_embedding(task, range(11, 21))),
    ):
        print(f"cos(15, 11..20), {name:9}:", th.cosine_matrix(rows)[4].round(3))
    _exponents_in_q()
    _exponents_in_width()
    _normal_region()


def room_for_normal(n_keys: int, n_available: int, q: int, vocab_size: int | None = None) -> th.Task:
    """A reasoning task whose label distributions have eight standard deviations of room."""
    variance = (n_keys**2 - 1 + (q - 1) * (n_available**2 - 1)) / 12
    room = int(8 * variance**0.5) + 1
    first = max(n_available, room)
    needed = first + n_keys + q * (n_available - 1) + room
    return th.Task(
        keys=range(first, first + n_keys), reasoning_anchors=range(n_available), n_anchors=q, length=q + 1,
        vocab_size=vocab_size or needed,
    )  # fmt: skip


def embeddings(task: th.Task, n_anchors: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eq. 12 and what it approximates, without noise, with C1 = 1, for n evenly chosen anchors or all."""
    rate = task.length / th.token_ratio(task, task.reasoning_anchors[0])
    every = task.reasoning_anchors
    anchors = every if n_anchors is None else every[:: len(every) // n_anchors]
    return (
        th.gaussian_embedding(task, anchors, learning_rate=rate),
        th.label_distribution_embedding(task, anchors, learning_rate=rate),
    )


def _show(name: str, fit: th.Exponent, predicted: str) -> None:
    print(f"{name:58} {fit.value:7.3f} [{fit.low:.3f}, {fit.high:.3f}]  predicted {predicted}")


def _exponents_in_q() -> None:
    print("exponents, 99 % intervals; C1 = 1; in q = 32..512 for ten keys, ten anchors:")
    qs, rows = (32, 64, 128, 256, 512), []
    for q in qs:
        task = room_for_normal(10, 10, q)
        d, difference = th.normal_distance(task, 0), th.inner_product_difference(*embeddings(task))
        rows.append((d.kolmogorov, d.total_variation, d.l2, np.abs(difference).max()))
    names = ("Kolmogorov distance", "total variation", "l2 distance |P - N|", "sup of (13) without noise")
    for name, values, predicted in zip(
        names, np.array(rows).T, ("-1", "-1", "-5/4", "-3/2 (bound: -1/2)"), strict=True
    ):
        _show(name, th.fit_exponent(qs, values), predicted)


def _noise(
    task: th.Task, gamma: float, rng: np.random.Generator, shared: bool, n_anchors: int | None = None
) -> float:
    normal, distribution = embeddings(task, n_anchors)
    noise = rng.standard_normal((2, *normal.shape)) * task.vocab_size**-gamma
    noisy = th.inner_product_difference(normal + noise[0], distribution + noise[0 if shared else 1])
    return float(np.abs(noisy - th.inner_product_difference(normal, distribution)).max())


def _exponents_in_width() -> None:
    print("exponents in d_m, noise's part of the sup of (13), 30 draws each:")
    rng, widths = np.random.default_rng(4), (200, 400, 800, 1600, 3200)
    x = np.repeat(widths, 30)
    for gamma in (0.3, 0.5, 0.8):
        for shared in (True, False):
            tasks = [room_for_normal(10, 10, 4, w) for w in widths]
            values = [_noise(t, gamma, rng, shared) for t in tasks for _ in range(30)]
            predicted = f"{-gamma}" if shared else f"between {0.5 - 2 * gamma:.1f} and {-gamma}"
            kind = "one noise for both" if shared else "two noises"
            _show(
                f"gamma {gamma}, {kind}, fixed task",
                th.fit_exponent(x, values),
                f"{predicted} (bound: {1 - gamma:.1f})",
            )
    sizes = np.array([10, 20, 40, 80])
    for gamma in (0.5, 0.8):
        tasks = [room_for_normal(n, n, 4) for n in sizes]
        x = np.repeat([t.vocab_size for t in tasks], 30)
        for n_anchors, which in ((10, "ten anchors"), (None, "all anchors")):
            values = [_noise(t, gamma, rng, True, n_anchors) for t in tasks for _ in range(30)]
            # The largest of ever more pairs grows as the root of a logarithm: hence two rows.
            name = f"gamma {gamma}, one noise, growing task, {which}"
            _show(name, th.fit_exponent(x, values), f"{-gamma - 0.5}")
    still = [np.abs(th.inner_product_difference(*embeddings(t))).max() for t in tasks]
    _show(
        "without noise, growing task",
        th.fit_exponent([t.vocab_size for t in tasks], still),
        "-1",
    )


def _normal_region() -> None:
    print("smallest q with Kolmogorov distance <= 0.01 (N_A = 10), measured and from the expansion:")
    for n_keys in (5, 10, 20, 50, 100, 200):
        measured, predicted = (_smallest_q(n_keys, kind) for kind in ("kolmogorov", "predicted_kolmogorov"))
        print(f"N_Z = {n_keys:3}: q = {measured:4} {predicted:4}; (N_Z/N_A)^2 = {(n_keys / 10) ** 2:.2f}")
    for n_keys, q in ((100, 1), (100, 2), (100, 16), (1000, 16), (10, 2)):
        d = th.normal_distance(room_for_normal(n_keys, 10, q), 0)
        print(f"N_Z {n_keys}, N_A 10, q {q}: Kolmogorov {d.kolmogorov:.4f} TV {d.total_variation:.4f}")


def _smallest_q(n_keys: int, kind: str) -> int:
    low, high = 0, 1024  # the distance falls with q: halve the interval
    while high - low > 1:
        middle = (low + high) // 2
        near = getattr(th.normal_distance(room_for_normal(n_keys, 10, middle), 0), kind) <= 0.01
        low, high = (low, middle) if near else (middle, high)
    return high


def value() -> None:
    print("## Theorem 2: mean |cos(w_s, top direction of W_V)|")
    for length in (9, 3):
        for form in ("paper", "exact"):
            for reference in ("uniform", "marginal"):
                g = th.predict_value_growth(th.Task.paper(length), form=form, reference=reference)
                signed = g.alignment[list(g.task.memory_anchors)].mean()
                values = (g.singular_values[:4] / g.singular_values[0]).round(4)
                print(
                    f"L = {length} {form:6} {reference:9} reasoning {g.reasoning:.3f} memory {g.memory:.3f} "
                    f"(signed {signed:+.3f}) ratio {g.selectivity:.3f}; singular values {values}"
                )
    print("other tasks, q = 2, L = 9, paper's form: N_Z, reasoning anchors, memory anchors, d")
    for n_keys, n_rsn, n_mem, d in (
        (100, 10, 3, 200), (100, 20, 10, 300), (100, 30, 10, 400), (20, 10, 10, 90), (20, 10, 3, 80),
        (20, 20, 5, 150), (100, 40, 40, 400),
    ):  # fmt: skip
        first = n_rsn + n_mem + 1
        task = th.Task(
            keys=range(first, first + n_keys), memory_anchors=range(1, n_mem + 1),
            reasoning_anchors=range(n_mem + 1, first), n_anchors=2, length=9, vocab_size=d,
        )  # fmt: skip
        g = th.predict_value_growth(task)
        in_keys = th.label_table(task)[list(task.reasoning_anchors)][:, list(task.keys)].sum(axis=1).mean()
        print(
            f"{(n_keys, n_rsn, n_mem, d)}: reasoning {g.reasoning:.3f} memory {g.memory:.3f} "
            f"ratio {g.selectivity:.2f}; P(Y in Z | reasoning) {in_keys:.3f}, N_Z/d {n_keys / d:.3f}"
        )


def cliff() -> None:
    print("## Appendix D, E: construction, q = 2, mass 1e-3 allowed outside the window")
    print(" L   step    outside: reasoning, least and most over p   memory, p < L - q, least   linear tau")
    rng = np.random.default_rng(0)
    for length in range(4, 33):
        task = th.Task.paper(length)
        c = th.build_construction(task)
        masses: dict[Sequence[int], list[FloatArray]] = {
            anchors: [] for anchors in (task.reasoning_anchors, task.memory_anchors)
        }
        for anchors, found in masses.items():
            for p in range(1, length - 1):
                sequences = rng.choice(task.keys, (20, length))
                sequences[:, p : p + 2] = rng.choice(anchors, (20, 2))
                found.append(th.mass_outside(c.last_row(sequences), np.full(20, p), 2))
        reasoning, memory = np.array(masses[task.reasoning_anchors]), np.array(masses[task.memory_anchors])
        print(
            f"{length:2}  {c.step:6.3f}  {reasoning.min():.6e} {reasoning.max():.6e}             "
            f"{memory[:-1].min():.4f}                      {th.linear_plateau(length, 2):.3f}"
        )


SECTIONS = {"lemma1": lemma1, "flow": flow, "theorem1": theorem1, "value": value, "cliff": cliff}

if __name__ == "__main__":
    print_sections(SECTIONS, __doc__)
