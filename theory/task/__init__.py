"""The task: keys, anchors, mappings and their rules; enumeration, drawing, TOML."""
