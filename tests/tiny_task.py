"""A task that trains in milliseconds, as a user writes it, and the options that make its model tiny."""

TASK = """
keys = "20..25"
n_anchors = 2
length = 3
vocab_size = 48
reasoning_anchors = "4..7"
memory_anchors = "1..3"
"""
TINY = ["--training.epochs", "2", "--training.snapshot-epochs", "--model.d-m", "4", "--model.d-f", "4"]
