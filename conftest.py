"""Settings for all tests: one thread for linear algebra, and examples of installed libraries."""

import os
from importlib.util import find_spec

# Before NumPy is imported: threads that wait for each other take more time than they save.
os.environ.setdefault("OMP_NUM_THREADS", "1")

collect_ignore = [
    f"src/stopwise/integrations/{file}.py"
    for file, library in {"litellm": "litellm", "scikit_learn": "sklearn"}.items()
    if find_spec(library) is None
]
