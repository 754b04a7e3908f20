"""From the readings of a record to a verdict: contrasts, causes, threats. Pure."""
