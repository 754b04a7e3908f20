"""What is seen beside the load, never inside it."""
