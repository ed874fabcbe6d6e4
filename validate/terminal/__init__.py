"""What a command prints: streams that take any text, and tables that fit the terminal."""
