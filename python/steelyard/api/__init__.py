"""What `import steelyard` offers to programs: a record as typed values."""
