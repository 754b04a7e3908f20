"""How a database comes to exist, starts, stops, is cloned and is reached."""
