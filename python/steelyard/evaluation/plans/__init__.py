"""Query plans of the arms: read as trees, compared node by node, told beside statement times."""
