"""Every parameter of the functions that are written in the language says what it takes, and refuses a pointer, a text and
what is known too late at the line of the user's call."""
import ast
import re

import pytest

from test_builtins_survive import HEAD, ROOM, ROOT, SIGNATURE, dump

KINDS = {"integer": "n", "real": "f", "number": "f", "tile": "o", "real_tile": "x", "count": "1", "axis": "0", "flag": "True"}


def functions():
    """(as users write it, its definition) of each row."""
    defined = {}
    for path in sorted((ROOT / "src" / "sema" / "library").glob("*.py")):
        defined |= {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    names = re.findall(r"^LIBRARY\((\w+),", (ROOM / "Builtins.def").read_text(), re.M)
    device = re.findall(r'\b(?:WRITTEN|WIDENED)\((?!name)(\w+),', (ROOM / "Libdevice.def").read_text())
    return [("tl." + name, defined[name]) for name in names] + [("libdevice." + name, defined["libdevice_" + name]) for name in device]


def calls():
    """(call, parameter) with one wrong argument each."""
    for name, definition in functions():
        parameters = definition.args.args
        for wrong, parameter in enumerate(parameters):
            if not isinstance(parameter.annotation, ast.Name):
                continue
            for value in ["p", "'a'"] + (["2.5"] if parameter.annotation.id in ("integer", "count", "axis", "flag") else []):
                given = [value if i == wrong else KINDS[p.annotation.id] for i, p in enumerate(parameters[:wrong + 1])]
                if parameter.annotation.id in ("count", "axis", "flag") and value == "p":
                    continue  # reported as a constant that is missing
                yield f"{name}({', '.join(given)})", name, parameter.arg


def test_every_parameter_names_its_kind():
    for name, definition in functions():
        for parameter in definition.args.args:
            assert ast.unparse(parameter.annotation or ast.Name("none")) in KINDS, f"{name}: {parameter.arg}"


def test_wrong_kinds_are_refused_at_the_call(build_dir, tmp_path):
    cases = list(calls())
    assert len(cases) > 100
    path = tmp_path / "kernel.py"
    first = HEAD.count("\n") + 1
    for start in range(0, len(cases), 90):  # a compile keeps 100 errors
        part = cases[start:start + 90]
        run = dump(build_dir, path, [f"    r{i} = {call}" for i, (call, _, _) in enumerate(part)])
        told = re.findall(r"kernel\.py:(\d+):\d+: error: parameter `(\w+)` of `([\w.]+)` must be", run.stderr)
        expected = [(str(first + i), parameter, name) for i, (_, name, parameter) in enumerate(part)]
        assert told == expected, [c for c, e in zip(part, expected) if e not in told][:5]
        assert "<tegula>" not in run.stderr


@pytest.mark.parametrize("call", ["tl.rand(n, o)", "tl.rand(True, o)", "tl.rand(u, 3)", "tl.randn(w, o[:, None])", "tl.sort(z[:, :4])",
                                  "tl.sigmoid(x)", "tl.flip(z, -1)", "libdevice.hypot(x, 1)", "libdevice.hypot(x, o)",
                                  "libdevice.ldexp(x, -3)", "tl.softmax(x)", "tl.swizzle2d(n, 1, 2, n, 4)"])
def test_right_kinds_are_taken(build_dir, tmp_path, call):
    call = call.replace("z[:, :4]", "tl.zeros((2, 4), tl.int8)")
    run = dump(build_dir, tmp_path / "kernel.py", [f"    r = {call}"])
    assert run.returncode == 0, run.stderr
