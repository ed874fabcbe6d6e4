"""What a run reads: data sets and batches."""
