"""SQL Server, by address only."""
