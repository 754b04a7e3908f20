"""What turns show beside their log ratio: by distance, evenness, debt, ageing. Pure."""
