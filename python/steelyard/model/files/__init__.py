"""Files of others read within bounds, and files of ours written whole and through no link."""
