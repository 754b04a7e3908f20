"""One load put on by several machines together, behind the load driver's protocol."""
