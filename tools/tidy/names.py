"""Names, lengths and other habits (STYLE.md)."""
import re

SAYS_NOTHING = re.compile(r"(Util|Helper|Common|Misc|Manager)(?![a-z])|\b(util|helper|common|misc|manager)s?\b")
OUR_CODE = (".h", ".hpp", ".c", ".cpp", ".def", ".td", ".inc", ".py")
MOST_LINES = 1000
MOST_README_LINES = 40
# A comment or docstring that starts here, and its first words. Lines that go on a comment of lines are not openings.
OPENS_COMMENT = re.compile(r'\s*(//|#|/\*|""")\s*(What|Where|Whether|Which|How|Tells whether)\b')
# Files that are modules of upstream's, whose programs import them by these names.
UPSTREAM_MODULES = {"python/tegula/_utils.py", "python/tegula/language/extra/cuda/utils.py", "python/tegula/language/extra/hip/utils.py"}
NOT_YET_PLAIN = "tools/tidy/comments_not_yet_plain.txt"


def words_that_say_nothing(tree):
    for path in tree.paths:
        stem = re.sub(r"s$", "", path.stem)
        parts = re.split(r"_|-", stem)
        is_free = str(path.relative_to(tree.root)) not in UPSTREAM_MODULES
        if is_free and (SAYS_NOTHING.search(stem) or any(part.lower() in ("util", "common", "misc", "manager") for part in parts)):
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


def comments_are_sentences(tree):
    """A comment that opens with a bare question word is no sentence: say who does what."""
    allow_list = tree.root / NOT_YET_PLAIN
    excused = {line for line in tree.text(allow_list).splitlines() if line and not line.startswith("#")}
    for path in tree.files(*OUR_CODE):
        name, before, found = str(path.relative_to(tree.root)), "", False
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            opening = OPENS_COMMENT.match(line)
            if opening and not (opening[1] in ("//", "#") and before.startswith(opening[1])):
                found = True
                if name not in excused:
                    yield path, number, "comments", f"opens with a bare `{opening[2]}`: say it as a sentence"
            before = line.strip()
        if name in excused:
            excused.remove(name)
            if not found:
                yield allow_list, 1, "comments", f"{name} is plain by now: take it out"
    for name in sorted(excused):
        yield allow_list, 1, "comments", f"there is no {name}"
