"""A few labels: reading them, what they say, and which cases to label next."""
