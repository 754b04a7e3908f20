"""One record on at most two printed pages, as PDF."""
