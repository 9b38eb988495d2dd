"""A cascade over HTTP: ask, tell and run, labels, reports, a dashboard."""
