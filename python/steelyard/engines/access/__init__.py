"""Ways by which clients reach a server beside its Unix socket."""
