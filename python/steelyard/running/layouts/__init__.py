"""Layouts: how the load of a weighing is laid out in time, and which suits a study."""
