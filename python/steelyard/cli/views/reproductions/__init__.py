"""What is shown of published studies and their repetitions."""
