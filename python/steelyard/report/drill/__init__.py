"""Shows a drill on a page of its own."""
