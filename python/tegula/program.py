"""The command line of an installed package: its program, with this Python for the verbs that are Python's."""
import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin" / "tegula"
    if not program.exists():
        sys.exit(f"{program}: error: this package came without its program; build/bin/tegula is that of a build")
    os.environ.setdefault("TEGULA_PYTHON", sys.executable)
    os.execv(program, [str(program), *sys.argv[1:]])
