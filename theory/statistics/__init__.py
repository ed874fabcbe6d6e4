"""What the data say of each token: label distributions, counts, co-occurrence, finite samples."""
