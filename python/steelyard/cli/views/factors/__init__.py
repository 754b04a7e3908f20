"""Views of a factorial."""
