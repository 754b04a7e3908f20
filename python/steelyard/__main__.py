"""Runs the command line by `python -m steelyard`."""

from steelyard.cli.app import main

main()
