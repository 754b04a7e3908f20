"""From a record to one self-contained page."""
