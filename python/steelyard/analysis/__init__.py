"""Pure functions from readings to estimates: no clock, no files."""
