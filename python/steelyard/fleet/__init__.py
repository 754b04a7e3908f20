"""Records of many machines: brought together, and what they show of that kind of machine."""
