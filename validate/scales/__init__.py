"""The initial scales of a torch module, and what escapes the intended one."""
