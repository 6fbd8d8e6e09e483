"""Finds what was forgotten: a test for each diagnostic, a row for each op in each target's table."""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ops_page

UNTESTABLE = "test/diagnostics_without_test.txt"
# The op around the others, which every target emits by hand.
KERNEL = "FuncOp"

def diagnostics_are_tested(tree):
    table = tree.root / "src" / "diag" / "Diagnostics.def"
    if not table.is_file():
        return
    excused = set()
    allow_list = tree.root / UNTESTABLE
    if allow_list.is_file():
        excused = {line.split("#")[0].strip() for line in tree.text(allow_list).splitlines()}
    tests = "\n".join(tree.text(path) for path in tree.paths
                      if tree.root / "test" in path.parents and path != allow_list)
    words = set(re.findall(r"\w+", tests))
    rows = {}
    for number, line in enumerate(tree.text(table).splitlines(), 1):
        if found := re.match(r"\s*DIAG\((\w+)", line):
            rows[found[1]] = number
    for name, number in rows.items():
        if name not in words and name not in excused:
            yield table, number, "diagnostics", f"no test mentions `{name}`; if it cannot be tested, say why in {UNTESTABLE}"
    for name in sorted(excused - {""} - rows.keys()):
        yield allow_list, 1, "diagnostics", f"`{name}` is no diagnostic any more"


def ops_have_rows(tree):
    """Each op of tile IR has a row in the table of each target: its lowering, or the refusal by name. `interp` needs no
    row: an op of the dialect without a meaning there does not link (interp/Interp.cpp)."""
    tables = ops_page.tables(tree.root)
    for path in tree.files(".td", under="src/ir/tile/ops"):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if not (found := re.match(r"def Tile_(\w+Op)\s*:", line)) or found[1] == KERNEL:
                continue
            for target, rows in tables.items():
                if f"tile::{found[1]}" not in rows:
                    yield path, number, "ops", f"`{found[1]}` has no row in the table of {target} ({ops_page.TABLES[target][-1]})"


def pages_are_current(tree):
    for maker, page in (("builtins_page.py", "docs/language/builtins.md"), ("ops_page.py", "docs/targets/ops.md")):
        if subprocess.run([sys.executable, tree.root / "tools" / maker, "--check"], capture_output=True).returncode:
            yield tree.root / page, 1, "docs", "not what the table says: `./x docs` writes it"


def links_lead_somewhere(tree):
    for path in tree.files(".md"):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", line):
                if not (path.parent / target).exists():
                    yield path, number, "links", f"nothing is at {target}"
