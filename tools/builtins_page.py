"""Writes docs/language/builtins.md from the table of builtins: src/sema/builtins/*.def.

    python3 tools/builtins_page.py          writes the page
    python3 tools/builtins_page.py --check  exits 1 if the page is not what the table says
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOM = ROOT / "src" / "sema" / "builtins"
PAGE = ROOT / "docs" / "language" / "builtins.md"

HEAD = """# Builtins

Written from `src/sema/builtins/Builtins.def` and `Libdevice.def` by `tools/builtins_page.py`; edit those. *Error* is the
bound of the result ([numerical-contract.md](numerical-contract.md), [math-functions.md](math-functions.md)). `: constexpr`
parameters must be known at compile time. Names marked † are methods of run-time values, too: `x.sum(axis=0)`; `x.to` is `tl.cast`; those
of `tl.tensor_descriptor` are methods of descriptors: `desc.load([m, n])`.
"""


def rows(path):
    """(macro, fields) of each row; strings come without their quotes."""
    for line in path.read_text().splitlines():
        if line.lstrip().startswith("//"):
            continue
        for macro, inside in re.findall(r"\b([A-Z_]+)\(((?:[^()\"]|\"[^\"]*\")*)\)", line):
            yield macro, [field[1:-1] if field.startswith('"') else field
                          for field in re.findall(r"\"[^\"]*\"|[^,\s][^,]*", inside)]


def cell(text):
    return text.replace("|", "\\|")


def page():
    families, missing, others = {}, [], {"triton": [], "Python": [], "CUDA": []}
    python_missing = []
    for macro, fields in rows(ROOM / "Builtins.def"):
        if macro in ("BUILTIN", "LIBRARY"):
            name, family, member, parameters, bound, doc = fields
            families.setdefault(family, []).append((name, member, parameters, bound, doc))
        elif macro == "DESCRIPTOR":
            name, parameters, doc = fields
            families.setdefault("Descriptor", []).append(("tensor_descriptor." + name, "Method", parameters, "exact", doc))
        elif macro in ("UNSUPPORTED", "CUDA_MISSING"):
            prefix = "tl.extra.cuda." if macro == "CUDA_MISSING" else "tl."
            missing.append((prefix + fields[0], fields[-1]))
        elif macro in ("TOP", "PYTHON", "CUDA_QUERY"):
            others[{"TOP": "triton", "PYTHON": "Python", "CUDA_QUERY": "CUDA"}[macro]].append(fields)
        elif macro == "PYTHON_MISSING":
            python_missing.append((fields[0], fields[1]))
    text = [HEAD]
    for family, members in families.items():
        text += [f"\n## {family}\n", "| | meaning | error |", "| --- | --- | --- |"]
        for name, member, parameters, bound, doc in members:
            mark = " †" if member in ("Member", "Method") else ""
            text.append(f"| `tl.{name}({cell(parameters)})`{mark} | {cell(doc)} | {cell(bound)} |")
    for title, prefix in (("triton", "triton."), ("Python", ""), ("CUDA", "tl.extra.cuda.")):
        text += [f"\n## {title}\n", "| | meaning |", "| --- | --- |"]
        text += [f"| `{prefix}{name}({cell(parameters)})` | {cell(doc)} |" for name, parameters, doc in others[title]]
    text += libdevice()
    text += ["\n## Not supported yet\n", "Refused by name, with this hint.\n", "| | instead |", "| --- | --- |"]
    text += [f"| `{name}` | {cell(hint)} |" for name, hint in missing + python_missing]
    return "\n".join(text) + "\n"


def libdevice():
    parameters = {"UNARY": "x", "BINARY": "x, y", "TERNARY": "x, y, z"}
    there = []
    for macro, fields in rows(ROOM / "Libdevice.def"):
        taken = "x" if macro == "CONVERSION" else parameters.get(macro) or fields[1].replace('arg0', 'x').replace('arg1', 'y')
        suffixes = {"DIRECTED": ("_rz", "_rd", "_ru"), "CONVERSION": ("_rn", "_rz", "_rd", "_ru")}.get(macro, ("",))
        there += [f"`{fields[0]}{suffix}({taken})`" for suffix in suffixes]
    return ["\n## libdevice\n",
            "`tl.extra.libdevice` (also `tl.extra.cuda.libdevice`, and under `tl.math`): floats, one result an element; "
            "operands are promoted to one type.\n", ", ".join(there) + "."]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.is_file() and PAGE.read_text() == page() else f"{PAGE} is old: run tools/builtins_page.py")
    PAGE.write_text(page())
