"""Takes in data directories, base backups and dumps of other servers."""
