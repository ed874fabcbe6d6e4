"""Print the numbers of docs/theory/transformer.md: python docs/theory/transformer_numbers.py [section ...].

Sections: lemma1 value cliff. Fixed seeds, one thread, about twenty seconds for all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from printing import names_among
from scipy.special import softmax

import theory as th


def attention_rows(
    d_m: int, d_k: int, gamma: float, row: int, n: int, rng: np.random.Generator, source: str
) -> NDArray[np.float64]:
    """Draw row i of the attention of n fresh models on i different tokens, entry by entry: shape (n, i)."""
    rows = np.empty((n, row))
    for sample in rows:
        x = rng.standard_normal((row, d_m)) * d_m**-gamma
        if source == "position":
            x = x + rng.standard_normal((row, d_m)) * d_m**-gamma
        if source == "layer_norm":
            x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        w_q, w_k = rng.standard_normal((2, d_m, d_k)) * d_m**-gamma
        sample[:] = softmax((x[-1] @ w_q) @ (x @ w_k).T / d_k**0.5)
    return rows


def lemma1() -> None:
    print("## Lemma 1: d_m = 200, d_k = 64, L = 9; 2000 drawn models each")
    print("source      gamma  logit std  drawn/predicted    P(|A_9j - 1/9| <= 0.01)  drawn   all, proven")
    rng, n = np.random.default_rng(0), 2000
    for source in ("embedding", "position", "layer_norm"):
        for gamma in (0.3, 0.5, 0.8):
            std = th.attention_logit_std(200, gamma, source=source)
            rows = attention_rows(200, 64, gamma, 9, n, rng, source)
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


def value() -> None:
    task = th.Task.paper()
    table, shares = th.label_table(task), th.token_ratios(task) / task.length
    kinds = task.reasoning_anchors, task.memory_anchors
    print("## Theorem 2: the covariance that its proof leaves out, and the drive of memory at N_Z = 100")
    for name, embedding in (("w = P - u", None), ("w = r (P - u)", th.expected_token_label_matrix(task))):
        terms = th.theorem_2_terms(table, shares, *kinds, embedding=embedding)
        print(f"{name:14} covariance {terms.left_out:.3f} of the flow, memory {terms.memory_share:.3f}")
    print("mean |cos(w_s, top direction of W_V)| at any N_Z")
    for form in ("paper", "exact"):
        for reference in ("uniform", "marginal"):
            g = th.predict_value_growth(task, form=form, reference=reference)
            print(
                f"{form:6} {reference:9} reasoning {g.reasoning:.3f} memory {g.memory:.3f} "
                f"ratio {g.selectivity:.3f}; second over first singular value "
                f"{g.singular_values[1] / g.singular_values[0]:.4f}"
            )


def cliff() -> None:
    print("## Appendix E, q = 2: printed conditions, best violation of Definition 3, linear read-out; ours")
    print(" L   C_M (45)  C_m (46)  violation  linear tau   step   mass outside, ours")
    rng = np.random.default_rng(0)
    for length in (4, 5, 7, 9, 12, 32):
        task, made = th.Task.paper(length), th.printed_conditions(length, 2)
        ours = th.build_construction(task)
        masses = []
        for p in range(1, length - 1):
            sequences = rng.choice(task.keys, (20, length))
            sequences[:, p : p + 2] = rng.choice(task.reasoning_anchors, (20, 2))
            masses.append(th.mass_outside(ours.last_row(sequences), np.full(20, p), 2))
        print(
            f"{length:2}   {made.upper:.4f}    {made.lower:.4f}    {th.printed_violation(length, 2):.4f}     "
            f"{th.linear_plateau(length, 2):7.3f}     {ours.step:.3f}  {np.max(masses):.6e}"
        )


SECTIONS = {"lemma1": lemma1, "value": value, "cliff": cliff}

if __name__ == "__main__":
    for chosen in names_among(__doc__, "section", list(SECTIONS)):
        SECTIONS[chosen]()
