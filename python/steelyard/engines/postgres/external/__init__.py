"""External servers: they are connected to, and neither started nor stopped."""
