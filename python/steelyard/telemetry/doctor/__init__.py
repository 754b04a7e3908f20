"""What on this host would disturb a weighing: each check a function of the files that it reads."""
