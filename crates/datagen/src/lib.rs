//! Row generators, one file a table or workload.
