"""The treatments, and the proof that they differ only where declared."""
