"""Plants faults in clusters of its own, and records which check notices them."""
