"""Cascades inside other libraries, one file a library; each loads what it is for."""
