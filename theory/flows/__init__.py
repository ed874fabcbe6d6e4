"""The Emb-MLP: gradients, their expansion, and the ladder of gradient flows."""
