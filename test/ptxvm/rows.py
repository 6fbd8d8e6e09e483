"""The rows of the machine's table of instruction forms, and which of them recorded forms use.

`python rows.py` writes unrecorded.txt: the rows without a recording. test_golden.py asserts that it is right.
"""
import re
from pathlib import Path

from forms import all_forms, kernel
from golden import read

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "src" / "ptxvm" / "Opcodes.def"
LISTED = HERE / "unrecorded.txt"
ROW = re.compile(r'^PTX_FORM\(\w+, "([^"]+)", "([^"]*)", "[^"]*",\s*\d+, (\d+),', re.MULTILINE)
RECORDED_ON = 90  # what the recording's GPU is; it has no instruction of a later one


def table():
    """(mnemonic, modifiers, least architecture) of each row, in order."""
    return [(name, modifiers, int(least)) for name, modifiers, least in ROW.findall(TABLE.read_text())]


def spells(modifiers, parts):
    """Whether the parts behind the mnemonic, in order, are what a row's modifiers allow."""
    if not modifiers:
        return not parts
    first, rest = modifiers[0], modifiers[1:]
    optional = first.endswith("?")
    choices = first[1:].split(",") if first[0] == ":" else first.rstrip("?").split("|")
    if "nNk" in first and parts:
        parts = [re.sub(r"^m64n\d+k", "m64nNk", parts[0]), *parts[1:]]
    return (bool(parts) and parts[0] in choices and spells(rest, parts[1:])) or (optional and spells(rest, parts))


def rows_of(instruction, rows):
    """Numbers of the rows that a mnemonic with its parts fits: several where a later PTX widened one."""
    mnemonic, *parts = instruction.split(".")
    return {i for i, (name, modifiers, least) in enumerate(rows)
            if name == mnemonic and least <= RECORDED_ON and spells(modifiers.split(), parts)}


def instructions(form):
    """The mnemonics of a form's kernel, with their parts."""
    statements = kernel(form).split("{", 1)[1].replace("\n", " ").split(";")
    words = [[word for word in statement.split() if word[0] != "@" and word[-1] != ":"] for statement in statements]
    return {line[0] for line in words if line and not line[0].startswith(".") and line[0] != "}"}


def unrecorded():
    """The rows that no recorded form uses, as (text, least architecture) in the order of the table, and how many rows there are."""
    rows, recorded = table(), read()
    names = set().union(*(instructions(form) for form in all_forms() if form.text in recorded))
    used = set().union(*(rows_of(name, rows) for name in names))
    return [(f"{name} {modifiers}".rstrip(), least) for i, (name, modifiers, least) in enumerate(rows) if i not in used], len(rows)


def main():
    lines, count = unrecorded()
    LISTED.write_text("\n".join(text for text, _ in lines) + "\n")
    print(f"{count - len(lines)} of {count} rows have a recording")


if __name__ == "__main__":
    main()
