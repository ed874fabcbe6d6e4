"""Small language models on a corpus: what its counts say about the first motion of their matrices."""
