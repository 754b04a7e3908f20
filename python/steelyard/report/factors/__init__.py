"""What a page shows of a factorial."""
