"""What the data say of each token: P^s, r_s and C, exact, with held-out combinations, and from samples."""
