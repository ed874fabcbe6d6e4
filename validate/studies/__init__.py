"""Studies: the named sets of runs that claims and figures need, and their kept observations."""
