"""Admission of worlds that are data: each is proven before examples are made on it."""
