"""Makes the history of records as pages that open from disk, and shows them on this machine."""
