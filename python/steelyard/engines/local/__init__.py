"""What servers of this machine have in common, whatever the engine: files and processes."""
