"""Weighs in turns: each arm alone on the machine, over whole checkpoint cycles."""
