"""Reads what was weighed before: an index over records, comparisons, trends and exports."""
