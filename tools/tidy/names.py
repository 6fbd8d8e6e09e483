"""Names, lengths and other habits (STYLE.md)."""
import re

SAYS_NOTHING = re.compile(r"(Util|Helper|Common|Misc|Manager)(?![a-z])|\b(util|helper|common|misc|manager)s?\b")
OUR_CODE = (".h", ".hpp", ".c", ".cpp", ".def", ".td", ".inc", ".py")
MOST_LINES = 1000
MOST_README_LINES = 40


def words_that_say_nothing(tree):
    for path in tree.paths:
        stem = re.sub(r"s$", "", path.stem)
        parts = re.split(r"_|-", stem)
        if SAYS_NOTHING.search(stem) or any(part.lower() in ("util", "common", "misc", "manager") for part in parts):
            yield path, 1, "names", "the name of a file says what is in it"
        if path.suffix not in OUR_CODE:
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if found := re.search(r"\b(?:class|struct)\s+(\w*(?:Utils?|Helper|Common|Misc|Manager))\b", line):
                yield path, number, "names", f"`{found[1]}`: the name of a type says what it is"


def lengths(tree):
    for path in tree.files(*OUR_CODE):
        count = tree.text(path).count("\n")
        if count > MOST_LINES:
            yield path, count, "length", f"{count} lines: split by meaning before {MOST_LINES}"


def readmes(tree):
    for module in tree.modules.values():
        readme = module.folder / "README.md"
        if not readme.is_file():
            yield module.folder / "CMakeLists.txt", 1, "readme", f"module `{module.name}` has no README.md"
        elif (count := tree.text(readme).count("\n")) > MOST_README_LINES:
            yield readme, count, "readme", f"{count} lines, at most {MOST_README_LINES}"


def bare_todos(tree):
    marker = "TO" + "DO"
    for path in tree.paths:
        if path.suffix not in (*OUR_CODE, ".txt", ".cmake", ""):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if re.search(rf"\b{marker}\b(?!\(#\d+\))", line):
                yield path, number, "todo", f"a {marker} names its issue: {marker}(#12)"
