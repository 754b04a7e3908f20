"""Records of many machines: brought together, and what they say of that kind of machine."""
