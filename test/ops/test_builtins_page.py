"""The page of builtins says what the table says."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_page_is_what_the_table_says():
    run = subprocess.run([sys.executable, ROOT / "tools" / "builtins_page.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
