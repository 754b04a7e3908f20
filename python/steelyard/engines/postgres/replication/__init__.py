"""Standbys of a server that Steelyard starts: copies of its files that follow its log."""
