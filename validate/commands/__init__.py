"""One module a command: its options, its help with a working example, and what it does."""
