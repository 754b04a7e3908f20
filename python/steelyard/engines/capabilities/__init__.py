"""Protocols of what an engine can do beyond making, starting and stopping a server, by theme."""
