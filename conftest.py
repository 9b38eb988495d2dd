"""Modules for libraries that are not installed are not collected for their examples."""

from importlib.util import find_spec

collect_ignore = [
    f"src/stopwise/integrations/{file}.py"
    for file, library in {"litellm": "litellm", "scikit_learn": "sklearn"}.items()
    if find_spec(library) is None
]
