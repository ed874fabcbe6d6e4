"""The Transformer of Appendix A.1 written out in NumPy, one sequence, one position and one head at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.arrays import FloatArray

SIGMA = {
    "tanh": math.tanh,
    "relu": lambda h: max(h, 0.0),
    "gelu": lambda h: h * 0.5 * (1 + math.erf(h / math.sqrt(2))),
    "identity": lambda h: h,
}


def plain_forward(
    p: dict[str, FloatArray], tokens: list[int], model: Any
) -> tuple[FloatArray, dict[str, Any]]:
    """Return the logits of every position, shape (L, d), and each layer's attention and its logits."""
    rows = [p["W_E"][t] + (p["W_pos"][i] if "W_pos" in p else 0) for i, t in enumerate(tokens)]
    seen: dict[str, Any] = {}
    for layer in range(model.n_layers):
        own = {n.split(".", 1)[1]: a for n, a in p.items() if n.startswith(f"{layer}.")}
        normed = [_norm(x, own, "ln1", model) if model.norm.startswith("pre") else x for x in rows]
        seen_by_keys = normed if model.norm == "pre" else rows
        mixed, seen[f"{layer}.attention"], seen[f"{layer}.attention_logits"] = _attend(
            own, normed, seen_by_keys, model
        )
        rows = [_after_attention(own, x, m, model) for x, m in zip(rows, mixed, strict=True)]
    if model.norm.startswith("pre"):
        rows = [_norm(x, p, "ln_final", model) for x in rows]
    if "W_U" in p:
        rows = [_affine(x, p, "U") for x in rows]
    return np.array(rows), seen


def _attend(
    p: dict[str, FloatArray], asking: list[FloatArray], x: list[FloatArray], model: Any
) -> tuple[list[FloatArray], Any, Any]:
    places, width = len(x), model.d_k
    weights = np.zeros((model.n_heads, places, places))
    logits = np.full_like(weights, -math.inf)
    mixed = np.zeros((places, model.n_heads * width))
    for head in range(model.n_heads):
        own = slice(head * width, (head + 1) * width)
        q = [_affine(y, p, "Q")[own] for y in asking]
        k, v = ([_affine(y, p, letter)[own] for y in x] for letter in "KV")
        for i in range(places):
            for j in range(i + 1):
                logits[head, i, j] = sum(a * b for a, b in zip(q[i], k[j], strict=True)) / math.sqrt(width)
            total = sum(math.exp(logits[head, i, j]) for j in range(i + 1))
            for j in range(i + 1):
                weights[head, i, j] = math.exp(logits[head, i, j]) / total
                mixed[i, own] += weights[head, i, j] * v[j]
    return [_affine(row, p, "O") for row in mixed], weights, logits


def _affine(x: FloatArray, p: dict[str, FloatArray], letter: str) -> FloatArray:
    return np.asarray(x @ p[f"W_{letter}"] + p.get(f"b_{letter}", 0))


def _after_attention(p: dict[str, FloatArray], x: FloatArray, mixed: FloatArray, model: Any) -> FloatArray:
    h = x + mixed
    if model.norm == "post":
        h = _norm(h, p, "ln1", model)
    given = _norm(h, p, "ln2", model) if model.norm.startswith("pre") else h
    hidden = np.array([SIGMA[model.activation](z) for z in _affine(given, p, "in")])
    out = h + _affine(hidden, p, "out")
    return _norm(out, p, "ln2", model) if model.norm == "post" else out


def _norm(x: FloatArray, p: dict[str, FloatArray], name: str, model: Any) -> FloatArray:
    mean = sum(x) / len(x)
    variance = sum((a - mean) ** 2 for a in x) / len(x)
    normed = (x - mean) / math.sqrt(variance + model.norm_epsilon)
    return np.asarray(normed * p[f"{name}.w"] + p.get(f"{name}.b", 0))
