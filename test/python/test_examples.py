"""The examples run as their first lines say."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))


def test_quickstart():
    done = subprocess.run([sys.executable, ROOT / "examples" / "python" / "quickstart.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sums are right" in done.stdout and "`BLOK` is neither a parameter" in done.stdout


def test_command_line():
    done = subprocess.run(["sh", ROOT / "examples" / "cli" / "softmax.sh", BUILD / "bin" / "tegula"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("softmax.sh: done\n")
