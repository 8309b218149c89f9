"""ProveGym in other people's frameworks, one file each."""
