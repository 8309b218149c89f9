"""A corpus: which conversations it keeps, its files, its figures, and its export to trainers."""
