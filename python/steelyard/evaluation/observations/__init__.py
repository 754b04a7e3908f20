"""What is a reason to doubt turns and numbers from elsewhere; `wording/threats` says it."""
