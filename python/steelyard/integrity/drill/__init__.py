"""Plants faults in clusters made for it and records which checks notice them."""
