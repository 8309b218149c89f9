"""What runs inside a benchmark's own environment; none of it imports provegym."""
