"""Checks of a cluster of load machines before it is used: clocks, network, equal arms."""
