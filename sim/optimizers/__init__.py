"""Optimisers: a file of this folder that calls ``register_optimizer`` adds one, without any other edit.

Those here import torch only for a step: reading a configuration does not wait for it.
"""
