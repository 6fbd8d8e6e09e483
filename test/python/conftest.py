"""What the tests of the Python package share. No test needs a GPU; most run on the interpreter."""
import os
import subprocess
import sys

import pytest


@pytest.fixture
def python(tmp_path):
    """Runs a script in a fresh interpreter."""

    def run(script, *arguments, env=None, module=None):
        path = tmp_path / "script.py"
        path.write_text(script)
        command = [sys.executable, *(["-m", module] if module else []), str(path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **(env or {})})

    return run
