"""MySQL and MariaDB: which builds there are on this machine, and how one comes to be here."""
