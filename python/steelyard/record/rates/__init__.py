"""What arms carried and cost, as a record keeps it."""
