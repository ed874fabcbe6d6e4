"""Integrators and trajectories."""
