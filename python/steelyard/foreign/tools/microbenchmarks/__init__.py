"""Reads what harnesses of microbenchmarks write."""
