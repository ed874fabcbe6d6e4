"""The data that a run trains on: data sets and batches."""
