"""Machines on which two equal servers can be measured in any order, simulated or recorded."""
