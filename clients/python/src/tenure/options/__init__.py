"""How to reach the service, and what callers request of it. Durations are seconds, or timedeltas."""
