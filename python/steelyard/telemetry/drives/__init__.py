"""Reads the health of the drives beneath a directory, by smartctl and nvme-cli."""
