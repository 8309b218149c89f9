"""One conversation: planned on a live world, said by a user, with its reference calls."""
