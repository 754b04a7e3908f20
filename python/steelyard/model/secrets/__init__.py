"""What is secret, and how it stays out of what is printed and kept."""
