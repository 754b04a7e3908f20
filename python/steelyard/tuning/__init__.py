"""Storage and settings: what a drive does, and what a profile of settings is worth."""
