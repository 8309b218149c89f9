"""Programs that run inside a benchmark's virtual environment; none of them imports provegym."""
