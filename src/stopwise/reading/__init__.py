"""From a log of any kind to its histogram of patterns: files, tables and engines end here."""
