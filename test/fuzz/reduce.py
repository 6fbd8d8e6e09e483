"""Shrinks a program that fails: `python3 test/fuzz/reduce.py SEED [FORM] [--target cpu] [--out FILE]`.

In: a seed of generator.py whose program fails on a target. Out: on standard output the source of a smaller program that fails
in the same way (the same kind, between the same targets, the same finding), with its grid, numbers and buffers.
The recipe's steps are dropped: statements, with what they hold, in halves, quarters and so on; then values become constants
of their type, so that what they were made of can go; then numbers, buffers and the grid shrink. A program that a step makes
meaningless (a name without a value) fails in another way, and the step is taken back.
"""
import argparse
import dataclasses
import re
import sys
import tempfile
from pathlib import Path

from generator import generate
from isolated import run_one


def check_on(target):
    """The check that `target` fails: run in a child, which alone imports the package."""
    def check(program):
        import differences
        import pytest

        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if target == "cuda":  # the host's arrays go to the device and back
                sys.path.append(str(Path(__file__).resolve().parent.parent))
                import devices

                devices.mirror_launches(patch)
            differences.check(program, Path(folder), (target,))
    return check


# --- a program as a list of statements ---------------------------------------------------------


def depth_of(line):
    return len(line) - len(line.lstrip())


def parts(program):
    """The lines up to the kernel's body, and those of the body."""
    lines = program.source.rstrip("\n").split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("def ")) + 1
    return lines[:start], lines[start:]


def with_body(program, body):
    head, _ = parts(program)
    return dataclasses.replace(program, source="\n".join(head + body) + "\n")


def statements(body):
    """The ranges of lines of all statements, each with what it holds; an `else` belongs to its `if`."""
    for i, line in enumerate(body):
        if line.lstrip().startswith("else"):
            continue
        end = i + 1
        while end < len(body) and (depth_of(body[end]) > depth_of(line) or
                                   (body[end].lstrip().startswith("else") and depth_of(body[end]) == depth_of(line))):
            end += 1
        yield i, end


def without(body, ranges):
    gone = {i for start, end in ranges for i in range(start, end)}
    kept = [line for i, line in enumerate(body) if i not in gone]
    # A block that lost all of its statements holds a `pass`.
    result = []
    for i, line in enumerate(kept):
        result.append(line)
        if line.rstrip().endswith(":") and (i + 1 == len(kept) or depth_of(kept[i + 1]) <= depth_of(line)):
            result.append(" " * (depth_of(line) + 4) + "pass")
    return result or ["    pass"]


# --- smaller programs ------------------------------------------------------------------------------


def with_fewer_statements(program):
    body = parts(program)[1]
    ranges = list(statements(body))
    size = len(ranges)
    while size >= 1:
        for start in range(len(ranges) - size, -1, -size):
            yield with_body(program, without(body, ranges[start:start + size]))
        size //= 2


def with_unwrapped_blocks(program):
    """A loop or branch replaced by what it holds."""
    body = parts(program)[1]
    for start, end in statements(body):
        if end - start > 1:
            inside = [line[4:] for line in body[start + 1:end] if depth_of(line) > depth_of(body[start])]
            yield with_body(program, body[:start] + inside + body[end:])


def with_constants(program):
    body = parts(program)[1]
    for i in reversed(range(len(body))):
        line = body[i]
        match = re.match(r"(\s*)(\w+) = (.*)$", line)
        if not match or match[2] not in program.types or match[3].startswith("tl.full("):
            continue
        dtype, shape = program.types[match[2]]
        constant = f"tl.full({list(shape)}, 1, tl.{'int1' if dtype == 'bool' else dtype})"
        yield with_body(program, body[:i] + [f"{match[1]}{match[2]} = {constant}"] + body[i + 1:])


def with_smaller_numbers(program):
    for axis, extent in enumerate(program.grid):
        if extent > 1:
            yield dataclasses.replace(program, grid=(*program.grid[:axis], 1, *program.grid[axis + 1:]))
    for name, value in program.scalars.items():
        for smaller in sorted({0, 1, 2, value // 2, value - 1}):
            if 0 <= smaller < value and name != "stride":  # the offsets of distinct rows must not meet
                yield dataclasses.replace(program, scalars={**program.scalars, name: smaller})


def with_fewer_parameters(program):
    head, body = parts(program)
    text = "\n".join(body)
    buffers = [b for b in program.buffers if re.search(rf"\b{b.name}\b", text)]
    scalars = {k: v for k, v in program.scalars.items() if re.search(rf"\b{k}\b", text)}
    if len(buffers) + len(scalars) < len(program.buffers) + len(program.scalars):
        header = f"def kernel({', '.join([b.name for b in buffers] + list(scalars))}):"
        yield dataclasses.replace(program, source="\n".join(head[:-1] + [header] + body) + "\n", buffers=buffers, scalars=scalars)


SHRINKS = [with_fewer_statements, with_unwrapped_blocks, with_constants, with_smaller_numbers, with_fewer_parameters]


def shrunk_once(program, smaller, fails):
    """Behind a candidate that fails, those of the smaller program from its place on: each is tried about once."""
    place = 0
    while place < len(candidates := list(smaller(program))):
        if candidates[place] != program and fails(candidates[place]):
            program = candidates[place]
        else:
            place += 1
    return program


def shrink(program, fails):
    """A program that fails and of which no candidate does."""
    before = None
    while program != before:
        before = program
        for smaller in SHRINKS:
            program = shrunk_once(program, smaller, fails)
    return program


def shown(program):
    lines = [program.source, f"# grid {program.grid}, {program.scalars}", *(f"# {buffer}" for buffer in program.buffers)]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("form", nargs="?", default="")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--seconds", type=float, default=60, help="after which a run hangs")
    options = parser.parse_args()
    program, check = generate(options.seed, options.form), check_on(options.target)
    failure = run_one(check, program, options.seconds)
    if failure is None:
        sys.exit(f"seed {options.seed} {options.form} does not fail on {options.target}")
    wanted = failure.signature()

    def fails(candidate):
        found = run_one(check, candidate, options.seconds)
        return found is not None and found.signature() == wanted

    smallest = shrink(program, fails)
    print(shown(smallest))
    print(f"# {' '.join(wanted[:1])}: {run_one(check, smallest, options.seconds).text.splitlines()[0]}")


if __name__ == "__main__":
    # The children need this: it is imported once, here.
    import differences  # noqa: F401

    main()
