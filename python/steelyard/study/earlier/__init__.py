"""What studies of earlier versions have otherwise."""
