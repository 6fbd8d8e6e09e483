"""One table has every variable of the environment: `tegula env` prints it, a page repeats it, and nothing else is read."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r'^VARIABLE\(\w+, "(\w+)", (?:text|flag|\w+\([^)]*\)), "([^"]*)", "([^"]*)", "([^"]*)"\)', (ROOT / "src/base/Environment.def").read_text(), re.M)
NAMES = {row[0] for row in ROWS}
# Of the build and of the tests; no program of ours reads them.
DEVELOPMENT = {"TEGULA_BUILD_DIR", "TEGULA_BENCH_NOTE", "TEGULA_DUMP_LOCATIONS"}
READS = re.compile(r"""(?:getenv\(|environ\.get\(|environ\[|getenv\()\s*["'](\w+)["']|["'](T(?:EGULA|RITON)_\w+)["'] in os\.environ""")
FOREIGN = {"PATH", "TMPDIR", "HOME", "PYTHONPATH", "LD_LIBRARY_PATH"}


def sources():
    for folder in ("src", "tools", "python", "include"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".hpp", ".c", ".py") and path.is_file():
                yield path


def test_what_is_read_is_in_the_table():
    found = set()
    for path in sources():
        for names in READS.findall(path.read_text()):
            found |= {name for name in names if name and name not in FOREIGN}
    assert found, "the pattern finds nothing"
    assert found <= NAMES, found - NAMES


def test_c_plus_plus_reads_through_the_table():
    for path in sources():
        if path.suffix == ".cpp" and "bindings" not in path.parts and path.name != "Environment.cpp":
            assert not re.search(r'getenv\("(TEGULA|TRITON|CUDA)_', path.read_text()), path


def test_what_is_in_the_table_is_read():
    text = "\n".join(path.read_text() for path in sources())
    for row in re.findall(r'^VARIABLE\((\w+), "(\w+)"', (ROOT / "src/base/Environment.def").read_text(), re.M):
        assert f"Variable::{row[0]}" in text or re.search(f"[\"']{row[1]}[\"']", text), row


def test_names_in_documents_and_messages_are_in_the_table():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.cpp"), *(ROOT / "python").rglob("*.py")]
    for page in pages:
        for name in re.findall(r"\bTEGULA_[A-Z][A-Z_]+\b", page.read_text()):
            is_of_the_build = re.search(rf"\b{name}\b", (ROOT / "CMakeLists.txt").read_text() + "".join(
                path.read_text() for path in [*(ROOT / "cmake").iterdir(), *(ROOT / "src").rglob("CMakeLists.txt")] if path.is_file()))
            assert name in NAMES | DEVELOPMENT or is_of_the_build, (page, name)


def test_the_page_repeats_the_table():
    page = (ROOT / "docs/howto/environment.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", page, re.M)
    assert [(name, initial.strip("`"), read, what) for name, initial, what, read in rows] == ROWS
    assert all(f"`{name}`" in page for name in DEVELOPMENT)


def test_the_command_prints_the_table():
    program = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula"
    done = subprocess.run([program, "env"], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin", "TEGULA_NUM_THREADS": "3"})
    assert done.returncode == 0
    assert re.findall(r"^(\w+) (?:=|is)", done.stdout, re.M) == [row[0] for row in ROWS]
    assert "TEGULA_NUM_THREADS = 3\n" in done.stdout and "TEGULA_MAX_KERNELS is not set (1024)\n" in done.stdout
