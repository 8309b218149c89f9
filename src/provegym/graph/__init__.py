"""The dependency graph of a server: which tool depends on which, proven by running calls."""
