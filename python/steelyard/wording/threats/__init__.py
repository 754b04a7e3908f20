"""What is said of each thing that was seen, and of each kind of threat."""
