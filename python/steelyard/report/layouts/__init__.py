"""What a report and progress show of each layout."""
