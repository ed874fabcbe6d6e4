"""The initial scales that a torch module has, and what escapes the one that was meant."""
