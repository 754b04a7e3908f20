"""Known weights, and the evidence against the balance."""
