"""The one-layer Transformer: initial attention, drives, growth of W_V, the cliff and its construction."""
