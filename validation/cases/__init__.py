"""Cases of `make validate`: what is simulated or replayed, a suite a file."""
