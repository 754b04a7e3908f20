"""Numbers with their units, and the record they are kept in."""
