"""Statistics that decide a verdict: the exact test, its looks and its sets."""
