"""Any torch module: what its parameters are, and small initial weights for it."""
