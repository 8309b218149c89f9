"""`python -m provegym`, the same as `provegym`."""

from provegym.cli import main

main()
