"""What docs/results/phases.md says besides its numbers."""

from __future__ import annotations

HEAD = """# Phase diagrams of the reasoning bias

The paper: the smaller the initial weights (the larger γ), the more a model prefers reasoning to memory.
Here γ is crossed with the learning rate and the placement of the layer norm, for the Emb-MLP at half of the
paper's widths and keys and the Transformer at a quarter (`docs/configs/phases-small-*.toml`). The paper's
sizes are too dear for the machine at hand: [sweeps](../sweeps.md#phase-diagrams) has the cost. Sizes,
lengths, measure and conditions were committed before any of these runs; the file of the Transformer states
them.

```console
$ anchorflow sweep docs/configs/phases-small-emb-mlp.toml --out runs/phases/emb-mlp
$ anchorflow sweep docs/configs/phases-small-transformer.toml --out runs/phases/transformer --kernels compiled
$ python docs/update_phases.py runs/phases
```

writes this page and keeps the accuracies that it is made from (`docs/results/phases/*.json`)."""

SHOWS = """## What it shows

How many of the held-out sums are right when half of the training sums are. A model that learns the rule has
both right at once; one that memorises has none of the held-out ones right, but for chance, one label in N_Z.
In the paper's Fig. 3A a Transformer at γ = 0.3 is at that end. Means over all rates and
seeds with a value:"""

GROWTH = """## Does the bias grow with γ?

In each column of a table below, one norm and one rate: Spearman's correlation ρ of γ and the test accuracy
at which half of the training sums are right, over the runs that get so far. That accuracy does not depend
on speed. ρ has its 95 % interval by Fisher's transformation. Whole intervals above 0 agree with the paper,
below 0 they contradict it. Columns of fewer than 6 runs or 4 values of γ are not judged: at a rate that is
too large nothing is fitted at any γ."""

RIVALS = """## Is it γ, or the rate, or the norm?

The share of the variance of that accuracy that the means over one axis explain by themselves (adjusted R²),
and by how much γ's share is larger than a rival's, with the 95 % interval over 2000 bootstrap samples of
cells: the percentiles decide. Doubled cells favour the axis with more levels, so the basic bootstrap's
interval stands beside them; where it says something else, the row is borderline. All runs with a value
count, whatever their other settings."""

DIAGRAMS = """## The diagrams

Left the accuracy on held-out sums when half of the training sums are right, right the bias of the ledger, a
mean over the whole run, which depends on speed and on the run's length and so compares within a column
only. Hatched: no run there has a value, because half of the training sums were never right or nothing was
learned. A star: some of the runs there have none, and the mean is over the others. Blank: no complete run.
A rate that has no complete run yet is left out.

The tables have the left diagrams' means with 95 % intervals of Student's t. From two or three seeds these
are wide, and a single cell decides little. A cell without an interval has one run."""

LIMITS = """## What this does not show

- The paper's sizes. With d_m = 50 or 100 instead of 200, the initial weights at γ = 0.3 and 0.9 are 10 and
  16 times apart, instead of 24 times, and there are fewer keys to memorise.
- What happens in cells without a value. Runs without one are the slow or unstable ones, which are not a
  random part: where a diagram is hatched at small γ, the column says little of the paper's contrast.
- Other held-out combinations. There is one pair, in both orders, at every setting.
- A family-wise error. The columns are judged one by one; by chance one in twenty would leave 0 out."""
