"""Reads the entries of server logs in all formats that servers and clouds write."""
