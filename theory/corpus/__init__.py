"""Statistics of a corpus: what the counts of token sequences say about an embedding before training."""
