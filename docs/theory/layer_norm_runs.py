"""Hold the corrected Props. 2 and 3 against kept runs: python docs/theory/layer_norm_runs.py [one-rate].

With "one-rate" what was looked at afterwards: the three placements at 1e-4, observed alone.

Fixed before any comparison:

- Runs: studies transformer (pre-norm), post-norm and no-norm, γ = 0.8 and 0.3, seeds 0 and 1.
- Snapshots: the first, after one epoch, and the early one (``validate.judge.times.early_epoch``).
- Prediction: ``last_token_adam``, AdamW on the residual path with the run's placement, rate, decay, batch
  and γ, on the last tokens and labels of the run's own training set, from weights of a draw of its own.
- Rivals: the same without norm; cosines of P^s − u, the Propositions as printed; one kind, 1 within a kind
  and 0 between; −|i − j|, correlation only.
- Measures: mean cosine among memory anchors, among reasoning anchors and between the two; Pearson's
  correlation and RMSE over the 190 pairs of anchors.
- Explained: the memory anchors' mean cosine is predicted within 0.2 in every run at γ = 0.8, early.
"""

from __future__ import annotations

import itertools

import numpy as np
from printing import CommandLine, end_with_reader

import theory as th
from sim.config.model import TransformerConfig
from sim.config.run import MemberConfig
from sim.data.dataset import build_dataset
from theory.arrays import FloatArray
from theory.transformer.layer_norm import Placement
from validate.judge.compare import measures
from validate.judge.times import early_epoch
from validate.observe import Observations
from validate.observe.find import kept

STUDIES, RATES, SEEDS = ("transformer", "post-norm", "no-norm"), (0.8, 0.3), (0, 1)
HEAD = ("study", "γ", "seed", "epoch", "prediction", "memory", "reason", "cross", "Pearson", "RMSE")
PRINTED = "{:<11} {:<4} {:<4} {:>5}  {:<22} {:>6} {:>6} {:>6}  {:>7} {:>6}"


def main() -> None:
    """Print a line for each run, snapshot and predictor."""
    print(PRINTED.format(*HEAD))
    for rate, study in itertools.product(RATES, STUDIES):
        for run in kept(study):
            if run.config.init_rate == rate and run.config.seed in SEEDS:
                compare(study, run)


def one_rate() -> None:
    """Print mean cosines and growth of memory anchors in runs of one rate, γ = 0.8, seed 0."""
    print("norm  epoch  memory  reasoning  |w| / |w(0)| of memory anchors")
    for norm, study, variant in (
        ("pre", "learning-rates", "lr1e-4"),
        ("post", "norms", "post-1e-4"),
        ("none", "norms", "none-1e-4"),
    ):
        (run,) = (r for r in kept(study, variant) if (r.config.init_rate, r.config.seed) == (0.8, 0))
        memory, reasoning = list(run.task.memory_anchors), list(run.task.reasoning_anchors)
        for epoch in run.epochs:
            means = [th.off_diagonal(run.cosines(group, epoch)).mean() for group in (memory, reasoning)]
            sizes = [np.diag(run.gram(memory, memory, e)).mean() ** 0.5 for e in (epoch, 0)]
            print(f"{norm:5} {epoch:<6} {means[0]:6.3f}  {means[1]:9.3f}  {sizes[0] / sizes[1]:.2f}")


def compare(study: str, run: Observations) -> None:
    """Print the lines of one run."""
    epochs = sorted({run.epochs[1], early_epoch(run)})
    joint = last_token_table(run.config)
    steps = [round(epoch * run.metrics[-1]["step"] / run.metrics[-1]["epoch"]) for epoch in epochs]
    without = adam(run.config, joint, steps, "none")
    own = transformer_of(run.config).norm
    assert own != "pre-queries"
    with_norm = without if own == "none" else adam(run.config, joint, steps, own)
    anchors = list(run.task.anchors)
    label_rows = th.label_table(run.task, held_out=True)[anchors] - 1 / run.task.vocab_size
    kind = np.array([token in run.task.memory_anchors for token in anchors])
    for index, epoch in enumerate(epochs):
        observed = run.cosines(anchors, epoch)
        found = {
            "observed": observed,
            "AdamW with its norm": th.cosine_matrix(with_norm[index][anchors]),
            "AdamW without norm": th.cosine_matrix(without[index][anchors]),
            "P^s - u": th.cosine_matrix(label_rows),
            "one kind": (kind[:, None] == kind).astype(float),
            "-|i - j|": -np.abs(np.subtract.outer(anchors, anchors)).astype(float),
        }
        for name, cosines in found.items():
            print(PRINTED.format(*_line(study, run, epoch, name, cosines, observed, kind)), flush=True)


def transformer_of(config: MemberConfig) -> TransformerConfig:
    """Return the settings of a Transformer."""
    assert isinstance(config.model, TransformerConfig)
    return config.model


def last_token_table(config: MemberConfig) -> FloatArray:
    """Return the joint frequencies of last token and label in a run's training set."""
    data = build_dataset(config)
    d = config.build_task().vocab_size
    table = np.zeros((d, d))
    np.add.at(table, (data.tokens[data.train, -1].numpy(), data.labels[data.train].numpy()), 1.0)
    return np.asarray(table / table.sum())


def adam(config: MemberConfig, joint: FloatArray, steps: list[int], norm: Placement) -> FloatArray:
    """Return the predicted embedding after some steps."""
    model, training = transformer_of(config), config.training
    assert training.batch_size != "full"
    rng, scale = np.random.default_rng(100 + config.seed), model.d_m**-config.init_rate
    d, width = len(joint), model.d_m
    W_E, W_U, position = (scale * rng.standard_normal(s) for s in ((d, width), (width, d), width))
    return th.last_token_adam(
        joint, W_E, W_U, steps,
        th.AdamSettings(training.learning_rate, weight_decay=training.weight_decay),
        position=position, norm=norm, epsilon=model.norm_epsilon, n_layers=model.n_layers,
        batch_size=training.batch_size,
    )  # fmt: skip


def _line(
    study: str,
    run: Observations,
    epoch: int,
    name: str,
    cosines: FloatArray,
    observed: FloatArray,
    kind: FloatArray,
) -> list[str]:
    pairs = np.triu(np.ones_like(cosines, dtype=bool), 1)
    both = kind[:, None] * 1 + kind
    means = [f"{cosines[pairs & (both == n)].mean():.3f}" for n in (2, 0, 1)]
    score = measures(cosines[pairs], observed[pairs])
    rank_only = name.startswith("-")
    shown = "" if name == "observed" else f"{score['pearson']:.3f}"
    error = "" if rank_only or not shown else f"{score['rmse']:.3f}"
    return [
        study, f"{run.config.init_rate:g}", str(run.config.seed), str(epoch), name,
        *(["", "", ""] if rank_only else means), shown, error,
    ]  # fmt: skip


if __name__ == "__main__":
    end_with_reader()
    line = CommandLine(__doc__)
    line.add_argument("part", nargs="?", choices=["one-rate"])
    one_rate() if line.parse_args().part else main()
