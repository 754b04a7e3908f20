"""Tests of what a weighing assumes."""
