"""The task: tokens, mappings and their rules, held-out combinations, and all its sequences."""
