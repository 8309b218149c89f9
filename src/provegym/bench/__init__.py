"""Benchmarks of ProveGym's speed and memory on this machine: `provegym bench`."""
