"""The dependency graph of a server: which tool needs which, proven by running calls."""
