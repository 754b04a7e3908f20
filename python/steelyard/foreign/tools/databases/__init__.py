"""Reads what benchmarks of databases other than pgbench and HammerDB write."""
