"""Published studies, and how each is repeated here."""
