"""One module per command: its options, its help with a working example, and what it does."""

COMMANDS = {
    "demo": "train the Emb-MLP at two scales and judge the theory (two minutes)",
    "predict": "what a task's label distributions say about its embedding",
    "corpus": "a language model on text: predict, train, compare, embedding, demo",
    "advise": "the initial scale of every parameter of anyone's model, and what sets it now",
    "train": "train every γ and seed of a configuration into run folders",
    "study": "the runs behind claims and figures: status, training, keeping",
    "sweep": "many runs over axes, on this machine or a cluster, and one table",
    "search": "at which settings the picture of Fig. 3A appears",
    "derive": "a statement of the paper derived step by step, in text or LaTeX",
    "claims": "the paper's claims with verdicts, from the runs that are kept",
    "compare": "does the theory predict what these runs did? a verdict and a report",
    "table": "the metrics of finished runs as a table: CSV, JSON or a summary",
    "figures": "the figures of the paper, from kept or given runs",
}
"""Every command, a module of this package, and what it is for."""
OPTIONS = ("--help", "--version", "--print-completion")
"""What can be asked for without a command."""
