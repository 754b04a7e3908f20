"""The options of commands that have many: their declarations, and the values made of them."""
