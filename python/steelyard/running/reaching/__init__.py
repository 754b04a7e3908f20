"""Weighing on servers that somebody else runs: arms are sessions, and nothing is started."""
