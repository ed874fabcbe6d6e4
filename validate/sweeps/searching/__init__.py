"""Searching a sweep: Optuna chooses which of its settings to train, within a budget of steps."""
