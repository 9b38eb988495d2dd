"""The report in words and pictures: for a terminal, and as a page."""
