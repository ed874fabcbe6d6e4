"""The models, written plainly, and their initial weights."""
