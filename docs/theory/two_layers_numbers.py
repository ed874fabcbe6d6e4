"""Print the numbers of docs/theory/two_layers.md: python docs/theory/two_layers_numbers.py [section ...].

Sections: exponents, onset, adam, kept. Two of them, onset and adam, train small Transformers in float64.

Fixed before any run of ``onset`` and ``adam``:

- Task: keys 6-9, memory anchors 1, 2, reasoning anchors 3-5, two anchors, length 4, vocabulary 22; d_m 12,
  d_k 3, d_f 7, tanh, two layers, every matrix κ times one standard normal draw.
- Three times, in Σ rate: when the logits have a root mean square of 0.1 about their mean over labels; when a
  singular value of the last W_V W_O has reached 0.1; when the last row's attention logits spread by 0.1.
- Predictions: of the first, ``two_factor_flow`` of the embedding with the last position and the read-out
  (no norm); of the third, ``query_key_onset`` with the true G and weights at the first.
- Expected without a norm: first < second < third, the first within 5 %, each linear in ln(1/κ) as κ falls.

``kept`` looks at kept runs, γ = 0.8, at the first snapshots: at the logits of anchors less those of other
tokens, and at those of noise before the anchors less those of noise behind them, in the same position. At
leading order the second is zero, and it was expected to be the smaller one, in size, after one epoch. (First
written down, and looked at, was the key less noise before the anchors: behind a causal mask that is zero at
any order, and says nothing.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from printing import print_sections

import theory as th
from sim.config.model import TransformerConfig
from sim.config.model_section import Norm
from sim.models.transformer import forward_cache, transformer
from theory.arrays import FloatArray
from validate.observe.find import kept

WIDTH, D_K, D = 12, 3, 22
REACHED = 0.1
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Setup:
    """A model, its data and the scale of its matrices."""

    norm: Norm
    scale: float

    @property
    def model(self) -> TransformerConfig:
        return TransformerConfig(
            d_m=WIDTH, d_f=7, d_k=D_K, norm=self.norm, norm_epsilon=0.0, activation="tanh"
        )

    def start(self) -> Tensors:
        rng = np.random.default_rng(3)
        shapes = {"W_E": (D, WIDTH), "W_pos": (4, WIDTH), "W_U": (WIDTH, D)}
        layer = dict.fromkeys(("W_Q", "W_K", "W_V"), (WIDTH, D_K)) | {"W_O": (D_K, WIDTH)}
        layer |= {"W_in": (WIDTH, 7), "W_out": (7, WIDTH)}
        shapes |= {f"{n}.{name}": shape for n in (0, 1) for name, shape in layer.items()}
        found = {name: torch.tensor(self.scale * rng.standard_normal((1, *s))) for name, s in shapes.items()}
        gains = ["0.ln1.w", "0.ln2.w", "1.ln1.w", "1.ln2.w", "ln_final.w"]
        return {n: t.requires_grad_() for n, t in found.items()} | {
            n: torch.ones(1, WIDTH, dtype=torch.float64) for n in gains
        }


def data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return every sequence of the task and its label."""
    task = th.Task(
        keys=range(6, 10), reasoning_anchors=[3, 4, 5], memory_anchors=[1, 2], n_anchors=2, length=4,
        vocab_size=D,
    )  # fmt: skip
    population = th.enumerate_population(task)
    labels = th.labels_of(task, population, th.draw_tables(task, np.random.default_rng(0)))
    return torch.from_numpy(population.sequences), torch.from_numpy(labels)


def train(
    setup: Setup, optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer]
) -> Iterator[Tensors]:
    """Yield the parameters, before the first step and after each one."""
    p, (sequences, labels) = setup.start(), data()
    steps = optimizer([t for t in p.values() if t.requires_grad])
    while True:
        yield p
        steps.zero_grad()
        logits = transformer(p, sequences[None], setup.model)[0]
        torch.autograd.backward(torch.nn.functional.cross_entropy(logits, labels))
        steps.step()


def sizes(p: Tensors, setup: Setup) -> tuple[float, float, float]:
    """Return what is compared with ``REACHED``: logits, W_V W_O and the last row's attention."""
    cache = forward_cache(p, data()[0][None], setup.model, ["logits", "1.attention_logits"])
    logits, scores = cache["logits"][0, :, -1], cache["1.attention_logits"][0, :, 0, -1]
    product = (p["1.W_V"] @ p["1.W_O"])[0].detach()
    return (
        float((logits - logits.mean(dim=1, keepdim=True)).square().mean().sqrt()),
        float(torch.linalg.matrix_norm(product, 2)),
        float((scores - scores.mean(dim=1, keepdim=True)).square().mean().sqrt()),
    )


def exponents() -> None:
    print("## exponent of the first gradient in the common scale of all matrices")
    table = {norm: th.gradient_exponents(norm) for norm in ("none", "pre", "post")}
    print(f"{'':10}" + "".join(f"{norm:>6}" for norm in table))
    for name in table["none"]:
        print(f"{name:10}" + "".join(f"{table[norm][name]:>6}" for norm in table))


def onset() -> None:
    print("## Σ rate at which logits, W_V W_O and attention have reached 0.1; full-batch descent")
    print("norm  scale   logits  predicted  W_V W_O  attention  predicted from the first")
    cases: tuple[tuple[Norm, float], ...] = (("none", 0.2), ("pre", 0.02))
    for norm, rate in cases:
        for scale in (0.1, 0.05, 0.025):
            _onset(Setup(norm, scale), rate)


def _onset(setup: Setup, rate: float, most: int = 10_000) -> None:
    times: list[float] = [float("nan")] * 3
    later = float("nan")
    for step, p in enumerate(train(setup, lambda tensors: torch.optim.SGD(tensors, lr=rate))):
        if step > 100 and step % 20:
            continue
        for k, size in enumerate(sizes(p, setup)):
            if size >= REACHED and np.isnan(times[k]):
                times[k] = step * rate
                if k == 0:
                    later = step * rate + predicted_attention(p, setup)
        if step >= most or not np.isnan(times).any():
            break
    first = predicted_logits(setup) if setup.norm == "none" else float("nan")
    print(
        f"{setup.norm:5} {setup.scale:<6} {times[0]:7.1f}  {first:9.1f}  "
        f"{times[1]:7.1f}  {times[2]:9.1f}  {later:9.1f}",
        flush=True,
    )


def predicted_logits(setup: Setup) -> float:
    """Return when the logits reach their size by the flow of embedding, last position and read-out alone."""
    p = {n: t[0].detach().numpy() for n, t in setup.start().items()}
    sequences, labels = (part.numpy() for part in data())
    C = th.sample_last_position_matrix(sequences, labels, D)
    G = np.vstack([C, C.sum(axis=0)])
    A, B = np.vstack([p["W_E"], p["W_pos"][-1]]), p["W_U"].T
    last, high = sequences[:, -1], 1.0

    def size(time: float) -> float:
        rows, columns = th.two_factor_flow(G, A, B, time)
        logits = (rows[last] + rows[-1]) @ columns.T
        return float(np.sqrt(((logits - logits.mean(axis=1, keepdims=True)) ** 2).mean()))

    while size(high) < REACHED:
        high *= 1.1
    low = high / 1.1
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if size(middle) >= REACHED else (middle, high)
    return high


def predicted_attention(p: Tensors, setup: Setup) -> float:
    """Return how long the attention still takes if G stays: of the model's own inputs, pulls and weights."""
    inputs, G = last_attention(p, setup)
    queries, keys = (p[name][0].detach().numpy() for name in ("1.W_Q", "1.W_K"))
    return th.query_key_onset(G, queries, keys, inputs, spread=REACHED)


def last_attention(p: Tensors, setup: Setup) -> tuple[FloatArray, FloatArray]:
    """Return what the last attention reads, and its G by autograd of the attention's output."""
    sequences, labels = data()
    cache = forward_cache(p, sequences[None], setup.model, ["1.input", "1.attention_out"])
    x, mixed = cache["1.input"][0], cache["1.attention_out"][0, :, -1].requires_grad_()
    read = x if setup.norm == "none" else torch.nn.functional.layer_norm(x, (WIDTH,), eps=0.0)
    h = x[:, -1] + mixed
    seen = h if setup.norm == "none" else torch.nn.functional.layer_norm(h, (WIDTH,), eps=0.0)
    out = h + torch.tanh(seen @ p["1.W_in"][0]) @ p["1.W_out"][0]
    final = out if setup.norm == "none" else torch.nn.functional.layer_norm(out, (WIDTH,), eps=0.0)
    loss = torch.nn.functional.cross_entropy(final @ p["W_U"][0], labels, reduction="sum")
    (pull,) = torch.autograd.grad(-loss, mixed)
    product = (p["1.W_V"] @ p["1.W_O"])[0].detach().numpy()
    inputs = read.detach().numpy()
    return inputs, th.query_key_matrix(inputs, pull.numpy(), product, D_K)


def adam() -> None:
    print(
        "## Adam: steps until the last row's attention logits have a spread of 0.1, pre-norm, scale 12^-0.8"
    )
    print("rate    bound  measured  bound x rate  measured x rate")
    for rate in (1e-3, 3e-4):
        setup = Setup("pre", 12**-0.8)
        bound = th.adam_attention_bound(WIDTH, D_K, rate, logit=REACHED)
        spread = 0.0
        base = sizes(setup.start(), setup)[2]
        for step, p in enumerate(train(setup, lambda t, lr=rate: torch.optim.Adam(t, lr=lr))):  # type: ignore[misc]
            spread = sizes(p, setup)[2]
            if spread >= base + REACHED or step == 3000:
                break
        print(f"{rate:<6}  {bound:5.1f}  {step:8}  {bound * rate:12.4f}  {step * rate:15.4f}", flush=True)


def kept_runs() -> None:
    print("## last row's attention logits in kept runs, gamma 0.8, mean over seeds [each]")
    print("study        epoch  spread                   before less behind anchors  anchors less others")
    for study in ("transformer", "post-norm"):
        runs = [run for run in kept(study) if run.config.init_rate == 0.8]
        for index in range(3):
            found = np.array([contrasts(run.array("last_logits")[index]) for run in runs]).T
            cells = [f"{row.mean():7.3f} [{row.min():.3f}, {row.max():.3f}]" for row in found]
            print(f"{study:12} {runs[0].epochs[index]:<5}  " + "  ".join(cells))


def contrasts(logits: FloatArray) -> tuple[float, float, float]:
    """Return the spread, noise before less behind, anchors less others; rows are the key's positions."""
    last, length = logits.shape[0] - 1, logits.shape[1]
    rows = logits[:last]  # Where the anchors end the sequence, an anchor asks.
    q = length - logits.shape[0]
    both = [j for j in range(length - 1) if j - q > 0 and j < last - 1]
    sides = [rows[j + 1 :, j].mean() - rows[: j - q, j].mean() for j in both]
    anchors = [
        row[p + 1 : p + 1 + q].mean() - np.delete(row, slice(p + 1, p + 1 + q)).mean()
        for p, row in enumerate(rows)
    ]
    spread = np.sqrt(((rows - rows.mean(axis=1, keepdims=True)) ** 2).mean())
    return float(spread), float(np.mean(sides)), float(np.mean(anchors))


SECTIONS = {"exponents": exponents, "onset": onset, "adam": adam, "kept": kept_runs}

if __name__ == "__main__":
    torch.set_num_threads(1)
    print_sections(SECTIONS, __doc__)
