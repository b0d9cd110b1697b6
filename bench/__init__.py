"""Benchmarks: what `make bench` runs. Figures in the docs come from here and nowhere else."""
