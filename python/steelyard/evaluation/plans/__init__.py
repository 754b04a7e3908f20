"""Query plans of the arms: read as trees, compared node by node, reported beside statement
times."""
