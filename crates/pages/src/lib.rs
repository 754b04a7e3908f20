//! PostgreSQL page layout, checksums and the control file.
