"""What servers count and time on request."""
