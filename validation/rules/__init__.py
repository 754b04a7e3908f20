"""Rules that other tools judge by, one a file, with their source and what was simplified."""
