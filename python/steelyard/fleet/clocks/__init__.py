"""How far the clocks of several machines lie apart, and how surely that is known."""
