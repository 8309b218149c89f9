"""How good a model is: one file per benchmark, and two runs side by side."""
