"""Any torch module: the role of each of its parameters, and small initial weights for it."""
