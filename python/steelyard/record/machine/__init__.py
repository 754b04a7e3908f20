"""What a record holds of the machine's devices."""
