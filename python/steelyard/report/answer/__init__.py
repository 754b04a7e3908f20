"""Words what stands beside a verdict: both arms in numbers, scripts, plans, what to type next."""
