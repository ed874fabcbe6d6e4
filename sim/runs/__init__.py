"""Run folders: files, locks, provenance, reading."""
