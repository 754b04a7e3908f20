"""Words what a rehearsed upgrade came to: for a terminal, and as a page."""
