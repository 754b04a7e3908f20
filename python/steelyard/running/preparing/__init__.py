"""Makes a weighing ready: record, engines, data, inspection, plan."""
