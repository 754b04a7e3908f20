"""What stands between an arm's clients and its server, and behind it: poolers and standbys."""
