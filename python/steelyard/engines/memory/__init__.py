"""The memory that a server may have: its cap, its control group, and the right to make one."""
