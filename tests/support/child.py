"""The environment of a process that a test starts: it imports what this one imports, and the tests' support."""

import os
from pathlib import Path

_PATHS = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, _PATHS))}
