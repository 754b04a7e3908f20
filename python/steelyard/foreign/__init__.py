"""Reads numbers from elsewhere, for `judge`, and judges them."""
