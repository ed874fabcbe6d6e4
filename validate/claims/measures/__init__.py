"""Measures: pure functions from a run's observations, or a seed's, to a number."""
