"""Rehearses an upgrade to another major version by pg_upgrade, on a copy."""
