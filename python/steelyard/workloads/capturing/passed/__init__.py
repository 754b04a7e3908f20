"""What a proxy noted of connections that it passed through."""
