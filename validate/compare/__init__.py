"""Runs beside predictions: row by row, ranked, along the flow, and the verdict on a task of your own."""
