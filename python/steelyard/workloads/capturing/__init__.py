"""Makes workloads of what a server's log says that its clients did."""
