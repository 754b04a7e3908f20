"""Where a transaction's mean time goes, what differs in it between arms, and what holds them up."""
