"""Studies: the question of a weighing, and its design drawn from a seed."""
