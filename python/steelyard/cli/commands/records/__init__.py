"""Commands over kept records: their history, and the history as pages."""
