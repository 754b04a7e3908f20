//! The pgbench script language: parse, check, compile, evaluate.
