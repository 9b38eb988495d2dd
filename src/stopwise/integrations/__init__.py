"""Cascades inside other libraries: one file per library, which imports it."""
