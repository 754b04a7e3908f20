"""Where the wall time of a weighing went: in words, in rows, as a bar."""
