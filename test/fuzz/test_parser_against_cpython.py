"""The parser reads the standard library as CPython does, and refuses broken kernel files where CPython does."""
import ast
import os
import random
import re
import subprocess
import sys
import sysconfig
import unicodedata
import warnings
from pathlib import Path

import pytest

from tree_of_cpython import normalized, tree_of

ROOT = Path(__file__).resolve().parents[2]
FILES = 400
MUTATIONS = 600

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)


class Dump:
    """tegula_syntax_dump, asked for one file after another."""

    def __init__(self, build_dir):
        self.process = subprocess.Popen([build_dir / "bin" / "tegula_syntax_dump", "-"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, path):
        self.process.stdin.write(os.fsencode(path) + b"\n")
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        assert head, f"the parser died of {path} ({self.process.wait()})"
        return head[0] == b"OK", self.process.stdout.read(int(head[1])).decode("utf-8", "surrogatepass")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def dump():
    process = Dump(Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")))
    yield process
    process.close()


def cpython(parse, *arguments):
    """The result of `parse`, or None where it finds an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parse(*arguments)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def library_files():
    """Files of the standard library that are right and UTF-8; without names of characters, which Tegula refuses."""
    found = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    random.Random(2).shuffle(found)
    for path in found:
        source = path.read_bytes()
        coding = re.search(rb"coding[:=]\s*([-\w.]+)", b"".join(source.splitlines(True)[:2]))
        if b"\\N{" in source or (coding and not coding[1].lower().startswith((b"utf", b"ascii"))):
            continue
        yield path, source


def test_standard_library(dump):
    compared = 0
    for path, source in library_files():
        module = cpython(ast.parse, source)
        if module is None:
            continue
        ok, text = dump.ask(path)
        assert ok, text
        expected, text = normalized(tree_of(module)), normalized(text)
        # CPython normalizes names (PEP 3131); Tegula compares them as they are written.
        if expected != text and unicodedata.normalize("NFKC", expected) != unicodedata.normalize("NFKC", text):
            pairs = zip(expected.splitlines(), text.splitlines())
            first = next(((a, b) for a, b in pairs if a != b), (expected[-200:], text[-200:]))
            pytest.fail(f"{path}:\nCPython: {first[0]}\nTegula:  {first[1]}")
        compared += 1
        if compared == FILES:
            break
    assert compared > FILES // 2


TOKENS = ("( ) [ ] { } , : ; . = == += -> := + - * ** / // % @ & | ^ ~ << < >= != if else elif for in while def return "
          "not and or is lambda pass import as with class try except yield await None 1 0x1F 1.5 1e 08 'a' \" ''' f'{a}' "
          "f'{ # \\ $ ? ! x _ \u00e9 \u201c \n \n\n \t").split(" ")


def mutated(source, rng):
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(source))
        match rng.randrange(7):
            case 0: source = source[:at]
            case 1: source = source[:at] + source[at + rng.randint(1, 4):]
            case 2: source = source[:at] + rng.choice(TOKENS) + source[at:]
            case 3: source = source[:at] + " " + rng.choice(TOKENS) + " " + source[at:]
            case 4:
                lines = source.splitlines(True)
                del lines[rng.randrange(len(lines))]
                source = "".join(lines)
            case 5:
                lines = source.splitlines(True)
                row = rng.randrange(len(lines))
                lines[row] = rng.choice([" ", "  ", "\t", "    "]) + lines[row]
                source = "".join(lines)
            case 6:
                words = [m.span() for m in re.finditer(r"\w+|[^\w\s]", source)]
                if len(words) < 2:
                    continue
                (a, b), (c, d) = sorted(rng.sample(words, 2))
                source = source[:a] + source[c:d] + source[b:c] + source[a:b] + source[d:]
        if not source:
            return "("
    return source


def test_mutated_kernels(dump, tmp_path):
    kernels = [path.read_text() for path in sorted((ROOT / "examples" / "kernels").glob("*.py"))]
    kernels = [text for text in kernels if text]
    rng = random.Random(7)
    path = tmp_path / "mutated.py"
    refused = 0
    for number in range(MUTATIONS):
        source = mutated(rng.choice(kernels), rng)
        path.write_text(source, encoding="utf-8")
        ok, text = dump.ask(path)
        # What `compile` refuses besides (a name both global and local, ...) is not syntax.
        if cpython(ast.parse, source) is None:
            refused += 1
            assert not ok, f"mutation {number}: CPython refuses and Tegula does not:\n{source}"
        elif not ok:
            assert cpython(compile, source, "mutated.py", "exec") is None, f"mutation {number}:\n{text}"
    assert refused > MUTATIONS // 2
