"""The models as one would write them, and their initial weights."""
