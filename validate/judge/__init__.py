"""Conditions over observations: the paper's ledger, a user's own task, two corpora, the demo."""
