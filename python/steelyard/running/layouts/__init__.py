"""Layouts: how the load of a weighing is laid out in time, one file a layout."""
