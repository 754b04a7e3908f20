"""How clients reach a server of ours beside its socket: TCP, TLS, PgBouncer."""
