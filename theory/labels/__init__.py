"""What the data say about each token: P^s, r_s and C, exact, with held-out combinations, and from samples."""
