"""The story's own parts: what `weigh.py` names, done step by step."""
