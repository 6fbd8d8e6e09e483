"""Finds what was forgotten: a test for each diagnostic, a meaning for each op on each target."""
import re
import subprocess
import sys

UNTESTABLE = "test/diagnostics_without_test.txt"
# Ops that end a region: whoever runs the op around them runs them.
ENDS_OF_REGIONS = {"ReduceReturnOp", "ScanReturnOp"}
# Who runs ops, and the folders where each says what it does with an op, or that it does not.
ROOMS = {
    "interp": ["interp"],
    "targets/cpu": ["targets/cpu", "analysis", "codegen/llvm"],
    "targets/nvidia": ["targets/nvidia", "codegen/simt", "codegen/llvm", "convert", "transforms", "ir/simt"],
}


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


def ops_have_meaning(tree):
    for path in tree.files(".td", under="src/ir/tile/ops"):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if not (found := re.match(r"def Tile_(\w+Op)\s*:", line)):
                continue
            op = found[1]
            if op in ENDS_OF_REGIONS:
                continue
            for room, folders in ROOMS.items():
                texts = (tree.text(source) for folder in folders
                         for source in tree.files(".cpp", ".h", ".def", under=f"src/{folder}"))
                if not any(re.search(rf"\b{op}\b", text) for text in texts):
                    yield path, number, "ops", f"`{op}` has neither a lowering nor a refusal by name in src/{room}"


def pages_are_current(tree):
    maker = tree.root / "tools" / "builtins_page.py"
    if maker.is_file() and subprocess.run([sys.executable, maker, "--check"], capture_output=True).returncode:
        yield tree.root / "docs/language/builtins.md", 1, "docs", "not what the table says: `./x docs` writes it"


def links_lead_somewhere(tree):
    for path in tree.files(".md"):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", line):
                if not (path.parent / target).exists():
                    yield path, number, "links", f"nothing is at {target}"
