"""Learners: where to stop, from disagreement alone. Nothing here imports known labels.

`registry` lists the policies; they are public as ``stopwise.Resolve`` and so on.
"""
