"""What page verification buys: the scrub of a cluster, and the drill that shows what it catches."""
