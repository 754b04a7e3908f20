"""What a cluster of load machines does before it is believed: clocks, network, equal arms."""
