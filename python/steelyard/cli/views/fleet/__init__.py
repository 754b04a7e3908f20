"""What `steelyard fleet` prints of machines."""
