"""Writes docs/targets/ops.md from the tables of the targets: which op each lowers, and which uses it refuses.

    python3 tools/ops_page.py          writes the page
    python3 tools/ops_page.py --check  exits 1 if the page is not what the tables say
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "targets" / "ops.md"
# The rows of a target, those of a later table in the place of earlier ones (codegen/llvm/OpTable.h).
TABLES = {
    "cpu": ["src/targets/cpu/Ops.def"],
    "nvidia": ["src/codegen/simt/Ops.def", "src/targets/nvidia/Ops.def"],
}
ROW = re.compile(r"^(OP|STEP|ELEMENT|WITHIN|ENDS_REGION|REFUSED)\((\w+(?:::\w+)*)(?:, (.*))?\)(?: //.*)?$")

HEAD = """# Ops of each target

Written from the tables of the targets (`Ops.def`) by `tools/ops_page.py`; edit those. From the same rows come dispatch and the
refusals before code generation. `interp` has a meaning for every op of `tt`. *except* names the function beside the table that says
which uses are refused. Ops that only passes make (`simt.*`) are left out.
"""


def tables(root=ROOT):
    """target -> {op: (kind of row, its last field)}"""
    result = {}
    for target, paths in TABLES.items():
        rows = result[target] = {}
        for path in paths:
            for line in (root / path).read_text().splitlines():
                if found := ROW.match(line):
                    kind, op, rest = found.groups()
                    reason = (rest or "").strip('"').split("; hint: ")[0]
                    rows[op] = kind, reason if kind == "REFUSED" else (rest or "none").rsplit(", ", 1)[-1]
    return result


def cell(row):
    if row is None:
        return "refused by name"
    kind, last = row
    if kind == "REFUSED":
        return f"refused: {last}"
    return "yes" if last == "none" else f"yes, except `{last}`"


def page():
    rows = tables()
    ops = sorted({op for table in rows.values() for op in table if "::" in op})
    text = [HEAD, "| op | " + " | ".join(rows) + " |", "| --- |" + " --- |" * len(rows)]
    for op in sorted(ops, key=lambda op: (not op.startswith("tile"), op)):
        text.append(f"| `{op}` | " + " | ".join(cell(table.get(op)) for table in rows.values()) + " |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(PAGE.read_text() != page() if PAGE.is_file() else 1)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
