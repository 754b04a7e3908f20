"""Connection strings as libpq reads them."""
