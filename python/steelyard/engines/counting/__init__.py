"""What servers count and time where they are asked to."""
