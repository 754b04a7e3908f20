"""What on this host would spoil a weighing: each check a function of the files that it reads."""
