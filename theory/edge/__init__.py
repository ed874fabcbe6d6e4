"""Where a user meets the mathematics: array types, checked arguments, refusals, files read, tables shown."""
