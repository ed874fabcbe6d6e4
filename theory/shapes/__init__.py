"""Shapes of an embedding: cosines, principal components, Theorem 1, eq. 14, power laws."""
