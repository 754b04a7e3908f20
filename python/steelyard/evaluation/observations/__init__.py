"""What can be seen that is a reason to doubt, with its figures; `wording/threats` says it."""
