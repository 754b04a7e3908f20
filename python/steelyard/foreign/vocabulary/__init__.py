"""Says what headings of tables mean: one vocabulary for all readers."""
