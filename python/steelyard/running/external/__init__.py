"""Weighing on external servers: arms are sessions, and nothing is started."""
