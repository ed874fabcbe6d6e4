"""The ledger's entries, grouped by what they are about."""
