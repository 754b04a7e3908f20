"""The verdict as verdict.json keeps it: the facts of a record, and their words."""
