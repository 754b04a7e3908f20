"""Proposes settings of a database server from its memory, processors, storage and work."""
