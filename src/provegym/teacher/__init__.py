"""A teacher model: it says planned conversations in its own words, and each is checked."""
