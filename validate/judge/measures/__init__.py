"""Measures: from a run, a seed's runs or a draw to one number."""
