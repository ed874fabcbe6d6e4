"""What a task is: tokens, mappings and their rules, held-out combinations, and all its sequences."""
