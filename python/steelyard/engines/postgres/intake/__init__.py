"""Takes in data directories, base backups and dumps that somebody else made."""
