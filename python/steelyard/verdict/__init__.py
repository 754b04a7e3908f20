"""From estimates and doubts to a verdict."""
