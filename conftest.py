"""Settings for all tests: one thread for linear algebra, and examples of installed libraries."""

import os
from importlib.util import find_spec

# Before NumPy is imported: threads that wait for each other take more time than they save.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Modules without examples whose libraries take seconds to import, or may be missing.
collect_ignore = ["src/stopwise/integrations/litellm.py"]
if find_spec("sklearn") is None:
    collect_ignore.append("src/stopwise/integrations/scikit_learn.py")
