"""Where claims are judged: the settings, the likeliest to be the paper's first, and the steps of measures.

The order is fixed by where a setting comes from and not by what it shows. Checks of robustness come last and
stay outside the main table.
"""

from validate.judge.claim import Setup, Steps

LARGE, SMALL = 0.3, 0.8
"""γ of large and of small initial weights, which the paper contrasts."""

PRINTED = Setup(
    "printed",
    "paper's printed settings",
    "printed",
    "the values that the paper prints, constant rate 1e-5, 200 epochs; intervals of 98.4 % at four seeds, of "
    "95.6 % at six",
    more="printed-seeds",
    looks=((4, 0.0164), (6, 0.0439)),
)
GROUP = Setup(
    "group",
    "group's code",
    "group-2024",
    "post-norm and schedule as in the group's public code, 200 epochs",
)
GELU = Setup("GELU", "GELU, 1e-4", "post-norm-gelu", "post-norm, GELU, 1e-4, 40 epochs")
POST = Setup("post", "ReLU, 3e-4", "post-norm", "post-norm, ReLU, 3e-4, 5 epochs")
NO_NORM = Setup(
    "none", "no layer norm", "no-norm-all", "no layer norm, as in Props. 1-3, 1e-3, 6 epochs, fresh seeds"
)
MLP = Setup(
    "MLP",
    "Emb-MLP",
    "printed-emb-mlp-matched",
    "the Emb-MLP of Definition 1, no noise; 1e-4 to the sum of learning rates of the paper's epoch 900",
)
GPT2 = Setup(
    "GPT-2",
    "GPT-2, printed rate",
    "printed-gpt2",
    "the paper's rate, 1e-5, to step 5000; two layers, d_m 128, two corpora of 500 sequences each",
)
GPT2_FAST = Setup("3e-4", "GPT-2, 3e-4", "language", "as GPT-2, at 3e-4 for 24 epochs")
COMPUTED = Setup(
    "theory",
    "computed",
    meaning="computed without the runs of a study; claim 7's power with a quarter of the keys and widths, "
    "a size that was looked at beforehand (3.005, 3.000, 3.003)",
)
QUARTER = Setup(
    "quarter",
    "a quarter of the size",
    "group-small",
    "as group, with widths and keys divided by four, which makes weights larger at equal γ; 200 epochs",
    robustness=True,
)
PRE = Setup("pre", "pre-norm", "transformer", "pre-norm, 1e-4, 12 epochs", robustness=True)

SETTINGS = (PRINTED, GROUP, GELU, POST, NO_NORM, MLP, GPT2, GPT2_FAST, COMPUTED, QUARTER, PRE)
BY_LABEL = {setup.label: setup for setup in SETTINGS}
MORE = {setup.study: setup for setup in SETTINGS if setup.more}
"""The settings with a study that another one continues with further seeds, by study."""
TRANSFORMERS = (PRINTED, GROUP, GELU, POST, NO_NORM, QUARTER, PRE)
NORMED = (PRINTED, GROUP, GELU, POST, QUARTER, PRE)
FULL_SIZE = (PRINTED, GROUP, GELU, POST, NO_NORM, PRE)
"""The Transformers, those with layer norm, and those on the paper's whole task."""
LANGUAGE = (GPT2, GPT2_FAST)
EVERYWHERE = (PRINTED, GROUP, GELU, POST, NO_NORM, MLP, QUARTER, PRE)


_QUARTER = ("group-small", "group-no-norm-small")
_SUMS = ("emb-mlp", "printed-emb-mlp-matched", "frozen-long", "optimisers", "learning-times", "demo")
"""Studies in which the Emb-MLP sees both orders of a pair as one input of one label."""
# For a share, how many items are counted: held-out sequences, or pairs of them in ``_SUMS``, with each of 100
# keys; at a quarter of the size there are 25 keys and sequences of five.
ACCURACY = Steps(2000, {_QUARTER: 200, ("causal",): 200, _SUMS: 100})
TABLE, SEQUENCE, DATA_SETS, POSITION = Steps(10_000), Steps(1000), Steps(18), Steps(6)
ATTENTION = Steps(22_528, {_QUARTER: 7168})
# For a rank correlation of n values n (n² − 1)/12.
KEYS, ANCHORS, RISE, POSITIONS = (
    Steps(10_107_280_837.5, {_QUARTER: 2_249_975}),
    Steps(7590),
    Steps(140),
    Steps(42),
)
RATES = Steps(28, {("printed-gpt2",): 2, ("language",): 5})
