"""Oratorio's command line, and what its demo, tests and benchmarks share."""
