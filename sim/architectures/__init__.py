"""Architectures: a file of this folder that calls ``register_model`` adds a kind, without any other edit."""
