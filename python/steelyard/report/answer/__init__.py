"""Words what a report has beside its verdict: both arms in numbers, scripts, plans, next steps."""
