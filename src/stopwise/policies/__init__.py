"""Learners: where to stop, from disagreement alone. Nothing here ever imports the truth.

`registry` lists the policies; they are public as ``stopwise.Resolve`` and so on.
"""
