"""Random kernels of tiles and products under control flow: seed -> source text, arguments, launch options, and what must come out.

A program has a pool of tiles, integers and sums; each statement loads, multiplies, changes, reduces or scans some of them, and loops (two and
more, `while` as well), branches, early exits and calls of helpers nest around any of it. Tiles come from memory of 8-bit floats, through
negative strides, tables of pointers, packed sequences and wrapped rows; elements are dropped by random numbers.

All values are small integers. `expected` runs the text as plain Python on NumPy's wide numbers, and refuses a program in which a sum or an
operand is not exact, memory is missed, or a loop does not end: `generate` then makes another one of the same seed.

`python3 test/fuzz/nested_programs.py SEED` prints the program of a seed.
"""
import random
import sys
import types

import ml_dtypes
import numpy as np

import philox
from hopper_programs import Buffer, Program

EXTENTS = [16, 16, 32, 32, 64, 64, 8, 128, 24, 48]
FLOATS = {"float16": 2048, "bfloat16": 256, "float8e4nv": 16, "float8e5": 8, "float32": 2**24}  # the largest integer that they hold exactly
NUMPY = {"bfloat16": ml_dtypes.bfloat16, "float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2}
BLOCKS = 4  # of each matrix in memory

HELPERS = {
    "multiply": "def multiply(a, b, acc, sign):\n    if sign > 0:\n        return tl.dot(a, b, acc), sign - 1\n    return acc - tl.dot(a, b), sign + 1\n",
    "clamp": "def clamp(x, low, high):\n    return tl.minimum(tl.maximum(x, low), high)\n",
    "drop": "def drop(x, seed, rows, columns, width, KEEP: tl.constexpr):\n    keep = tl.randint(seed, rows[:, None] * width + columns[None, :]) % 4 < KEEP\n"
            "    return tl.where(keep, x, 0.0), tl.sum(keep.to(tl.int32))\n",
    "steps": "def steps(n, limit):\n    count = 0\n    while n > 1 and count < limit:\n        if n % 2 == 0:\n            n = n // 2\n        else:\n"
             "            n = 3 * n + 1\n        count += 1\n    return count\n",
    "affine": "def affine(a1, b1, c1, a2, b2, c2):\n    return (a1 * a2) % 251, (b1 * a2 + b2) % 251, c1 + c2\n",
    "largest": "def largest(v1, i1, v2, i2):\n    first = (v1 > v2) | ((v1 == v2) & (i1 < i2))\n    return tl.where(first, v1, v2), tl.where(first, i1, i2)\n",
    "spread": "def spread(low1, high1, count1, low2, high2, count2):\n    return tl.minimum(low1, low2), tl.maximum(high1, high2), count1 + count2\n",
}


class Refused(Exception):
    """The program means nothing, or not the same with all roundings."""


class Generator:
    def __init__(self, seed, attempt):
        self.rng = random.Random(f"nested {seed} {attempt}")
        self.numbers = np.random.default_rng([seed, attempt])
        self.program = Program(seed)
        self.program.tables = {}  # number of a buffer -> numbers of the buffers that its addresses are of
        self.lines, self.depth, self.counter, self.loops = [], 1, 0, []
        self.tiles, self.ints, self.used = {}, [], set()  # shape -> names of f32; integers as (text, may be assigned)
        self.operands = {}  # shape -> names of the type of products
        self.budget = 26

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, share):
        return self.rng.random() < share

    def let(self, prefix, text):
        name = self.name(prefix)
        self.line(f"{name} = {text}")
        return name

    def buffer(self, dtype, count, values=None):
        kind = np.dtype(NUMPY.get(dtype, dtype))
        made = Buffer(f"mem{len(self.program.buffers)}", dtype, count, np.zeros(count, kind) if values is None else values.astype(kind))
        made.isWritten = values is None
        self.program.buffers.append(made)
        return made

    def scalar(self, value):
        name = f"arg{len(self.program.scalars)}"
        self.program.scalars[name] = value
        return name

    def helper(self, name):
        self.used.add(name)
        return name

    # --- values ---

    def integer(self, end=None):
        """The text of an integer from 0; below `end`, where that is given."""
        rng = self.rng
        text = rng.choice([name for name, _ in self.ints] + [str(rng.randint(0, 5))])
        if self.chance(0.3):
            text = rng.choice([f"({text} + {rng.randint(1, 3)})", f"({text} * {rng.randint(2, 3)})", f"({text} + {self.integer()})", f"({text} // 2)"])
        return text if end is None else f"(({text}) % {end})"

    def condition(self):
        rng = self.rng
        text = rng.choice([f"{self.integer()} % 2 == {rng.randint(0, 1)}", f"{self.integer()} > {self.integer()}", f"{self.integer()} != {rng.randint(0, 3)}",
                           f"{self.integer()} <= {rng.randint(0, 4)}"])
        if self.chance(0.2):
            text = rng.choice([f"({text}) and ({self.condition()})", f"({text}) or ({self.condition()})", f"not ({text})",
                               f"({text}) & ({self.condition()})"])
        return text

    def matrix(self, shape, dtype):
        """A matrix of several blocks of a shape: the text that loads one of them."""
        rng, (rows, columns) = self.rng, shape
        memory = rng.choice([dtype, dtype, dtype, "float8e4nv", "float8e5", "int8"]) if dtype in ("float16", "bfloat16") else dtype
        order = rng.choice([(0, 1), (0, 1), (1, 0)])
        extents = [rows, columns]
        fast = extents[order[1]] + rng.choice([0, 0, 16, 8, 1])
        strides = [0, 0]
        strides[order[0]], strides[order[1]] = fast, 1
        each = extents[order[0]] * fast
        cast = f".to(tl.{dtype})" if memory != dtype else ""
        kind = rng.choice(["plain", "plain", "plain", "negative", "table", "packed", "wrapped", "block"])
        if kind == "table":
            blocks = [self.buffer(memory, each, self.values(each)) for _ in range(2)]
            numbers = [self.program.buffers.index(block) for block in blocks]
            chosen = [rng.choice(numbers) for _ in range(BLOCKS)]
            table = self.buffer("int64", BLOCKS, np.array(chosen))
            self.program.tables[self.program.buffers.index(table)] = True
            return lambda at: (f"tl.load(tl.load({table.name} + {at}).to(tl.pointer_type(tl.{memory})) + {self.places(shape, strides)}"
                               f"{self.mask(shape)}){cast}")
        buffer = self.buffer(memory, each * BLOCKS, self.values(each * BLOCKS))
        if kind == "packed":
            starts = sorted(rng.randint(0, extents[0]) for _ in range(BLOCKS))
            table = self.buffer("int32", BLOCKS + 1, np.array([*starts, extents[0] + starts[-1]]))
            strides = [strides[0], strides[1]]
            if strides[1] != 1:
                strides = [columns, 1]
            begin = self.name("begin")

            def load(at):
                self.line(f"{begin} = tl.load({table.name} + {at})")
                self.line(f"length{begin} = tl.load({table.name} + {at} + 1) - {begin}")
                row = f"tl.arange(0, {rows})[:, None]"
                where = self.places(shape, strides, begin)
                return f"tl.load({buffer.name} + {where}, mask={row} < length{begin}, other={rng.choice(['0', '0', '1'])}){cast}"
            return load
        if kind == "block":
            lie = (1, 0) if strides[1] == 1 else (0, 1)
            checks = rng.choice(["", ", boundary_check=(0, 1)", ", boundary_check=(0,)"])
            short = rng.choice([0, 0, 3])
            if short:
                checks = ', boundary_check=(0, 1), padding_option="zero"'
            rows_in, columns_in = (str(extent - short) if self.chance(0.5) else self.scalar(extent - short) for extent in extents)
            return lambda at: (f"tl.load(tl.make_block_ptr({buffer.name} + {at} * {each}, ({rows_in}, {columns_in}), ({self.number(strides[0])}, "
                               f"{self.number(strides[1])}), (0, 0), ({rows}, {columns}), {lie}){checks}){cast}")
        offset = 0
        if kind == "negative":
            for axis in rng.choice([(0,), (1,), (0, 1)]):
                offset += (extents[axis] - 1) * strides[axis]
                strides[axis] *= -1
        if kind == "wrapped":
            extents[0] = max(1, rows - rng.choice([1, rows // 2]))
        base = self.name("base")
        step = self.number(each)
        return lambda at: (self.line(f"{base} = {buffer.name} + {offset} + {at} * {step}") or
                           f"tl.load({base} + {self.places(shape, strides, wrap=extents[0] if kind == 'wrapped' else 0)}{self.mask(shape)}){cast}")

    def values(self, count):
        return self.numbers.integers(-2, 3, count)

    def number(self, value):
        return "1" if value == 1 else self.scalar(value) if self.chance(0.6) else f"({value})"

    def places(self, shape, strides, begin=None, wrap=0):
        rows, columns = f"tl.arange(0, {shape[0]})", f"tl.arange(0, {shape[1]})"
        if begin:
            rows = f"({begin} + {rows})"
        if wrap:
            rows = f"({rows} % {self.number(wrap)})"
        terms = [f"{rows}[:, None] * {self.number(strides[0])}", f"{columns}[None, :] * {self.number(strides[1])}"]
        self.rng.shuffle(terms)
        return f"({' + '.join(terms)})"

    def mask(self, shape):
        rng = self.rng
        if self.chance(0.6):
            return ""
        axis = rng.randint(0, 1)
        index = f"tl.arange(0, {shape[axis]})" + ("[:, None]" if axis == 0 else "[None, :]")
        limit = rng.choice([str(rng.randint(0, shape[axis])), self.scalar(rng.randint(0, shape[axis])), f"{self.integer()} * 8"])
        text = f"{index} < {limit}"
        if self.chance(0.2):
            text = f"({text}) & ({self.condition()})"
        return f", mask={text}, other={rng.choice(['0', '0', '1'])}"

    def load(self, shape):
        text = self.rng.choice(self.sources.setdefault(shape, []) or [None])
        if text is None or self.chance(0.1):
            if self.depth > 1 and text is None:
                return self.made(shape)
            text = self.matrix(shape, self.dtype)
            self.sources[shape].append(text)
        return text(self.integer(BLOCKS))

    def made(self, shape):
        """An operand of sums or of nothing: where no matrix of the shape is in memory."""
        tile = self.tiles.get(shape)
        if not tile:
            return f"tl.full([{shape[0]}, {shape[1]}], {self.rng.randint(0, 2)}, tl.{self.dtype})"
        return f"{self.helper('clamp')}({self.rng.choice(tile)}, {self.rng.choice(['-3.0', '0.0'])}, 3.0).to(tl.{self.dtype})"

    def operand(self, shape):
        """The name of a tile in the type of products."""
        rng, kind = self.rng, self.rng.random()
        known = self.operands.get(shape, [])
        if known and kind < 0.4:
            return rng.choice(known)
        if kind < 0.55:
            other = (shape[1], shape[0])
            if self.operands.get(other):
                return rng.choice(["tl.trans({})", "{}.T", "tl.permute({}, (1, 0))"]).format(rng.choice(self.operands[other]))
        text = self.load(shape) if kind < 0.8 else self.made(shape)
        name = self.let("x", text)
        self.operands.setdefault(shape, []).append(name)
        return name

    # --- statements ---

    def shapes(self):
        return [(a, b) for a in self.extents for b in self.extents]

    def sum_of(self, shape):
        """The name of a sum, made here where there is none."""
        if not self.tiles.get(shape) or self.chance(0.05):
            name = self.let("acc", self.rng.choice([f"tl.zeros([{shape[0]}, {shape[1]}], tl.float32)",
                                                    f"tl.full([{shape[0]}, {shape[1]}], {self.rng.randint(-2, 2)}, tl.float32)"]))
            self.tiles.setdefault(shape, []).append(name)
        return self.rng.choice(self.tiles[shape])

    def product(self):
        rng = self.rng
        m, n, k = (rng.choice(self.extents) for _ in range(3))
        if self.dtype.startswith("float8") and k < 32:
            k = 32 if 32 in self.extents else max(self.extents)
        acc = self.sum_of((m, n))
        a, b = self.operand((m, k)), self.operand((k, n))
        kind = rng.random()
        if kind < 0.3:
            self.line(f"{acc} = tl.dot({a}, {b}, {acc})")
        elif kind < 0.5:
            self.line(f"{acc} += tl.dot({a}, {b})")
        elif kind < 0.6:
            sign = self.let("sign", self.integer(3))
            self.line(f"{acc}, {sign} = {self.helper('multiply')}({a}, {b}, {acc}, {sign})")
            self.ints.append((sign, False))
        elif kind < 0.7:
            self.line(f"{acc} = tl.dot({a}, {b}) - {acc}")
        elif kind < 0.8:
            self.line(f"{acc} = tl.where({self.condition()}, tl.dot({a}, {b}, {acc}), {acc})")
        elif kind < 0.9:
            self.line(f"{acc} = tl.dot({a}, {b}, {acc}) if {self.condition()} else {acc} * 0.5 * 2.0")
        else:
            name = self.let("acc", f"tl.dot({a}, {b})")
            self.tiles.setdefault((m, n), []).append(name)

    def change(self):
        """Something done to a sum or to an operand."""
        rng = self.rng
        shape = rng.choice([shape for shape, names in self.tiles.items() if names] or [None])
        if not shape:
            return self.product()
        acc = self.sum_of(shape)
        rows, columns = f"tl.arange(0, {shape[0]})", f"tl.arange(0, {shape[1]})"
        kind = rng.randrange(11)
        if kind == 0:
            self.line(f"{acc} = {self.helper('clamp')}({acc}, -16.0, 16.0)")
        elif kind == 1:
            self.line(f"{acc} = tl.where({rows}[:, None] + {self.integer()} >= {columns}[None, :], {acc}, 0.0)")
        elif kind == 2:
            self.line(f"{acc} = {acc} * tl.where(tl.sum({acc}, 1) > 0.0, 1.0, -1.0)[:, None]")
        elif kind == 3:
            count = self.name("count")
            self.line(f"{acc}, {count} = {self.helper('drop')}({acc}, {self.integer()}, {rows}, {columns}, {self.integer()} + {shape[1]}, {rng.randint(1, 3)})")
            self.ints.append((count, False))
        elif kind == 4:
            self.line(f"{acc} = {self.helper('clamp')}({acc} - tl.max({acc}, {rng.choice([0, 1])}, keep_dims=True), -8.0, 0.0)")
        elif kind == 5 and self.tiles.get((shape[1], shape[0])):
            self.line(f"{acc} = {rng.choice(self.tiles[(shape[1], shape[0])])}.T - {acc}")
        elif kind == 6:
            half = shape[0] // 2 if shape[0] % 2 == 0 else shape[0]
            self.line(f"{acc} = tl.reshape(tl.sum(tl.reshape({acc}, [{half}, {shape[0] // half}, {shape[1]}]), 1, keep_dims=True) + "
                      f"tl.reshape({acc}, [{half}, {shape[0] // half}, {shape[1]}]), [{shape[0]}, {shape[1]}])")
        elif kind == 7:
            self.ints.append((self.let("peak", f"tl.maximum(tl.max(tl.max({acc}, 1), 0).to(tl.int32), 0)"), False))
        elif kind == 8:
            count = self.let("kept", f"tl.sum(tl.sum(({acc} > {rng.randint(-2, 3)}).to(tl.int32), 1), 0)")
            self.ints.append((count, False))
        elif kind == 9:
            self.line(f"{acc} += {self.integer(7)}")
        else:
            self.tuples(acc, shape)

    def tuples(self, acc, shape):
        """A reduction or scan of several values at once, with a function of the program."""
        rng = self.rng
        axis = rng.randint(0, 1)
        whole = f"{self.helper('clamp')}({acc}, -50.0, 50.0).to(tl.int32)"
        index = f"tl.broadcast_to(tl.arange(0, {shape[1 - axis]}){'[:, None]' if axis else '[None, :]'}, [{shape[0]}, {shape[1]}])"
        index = f"tl.broadcast_to(tl.arange(0, {shape[axis]}){'[None, :]' if axis else '[:, None]'}, [{shape[0]}, {shape[1]}])" if self.chance(0.8) else index
        x = self.let("w", whole)
        view = "[:, None]" if axis else "[None, :]"
        kind = rng.random()
        if kind < 0.35:
            reverse = rng.choice(["", ", reverse=True"])
            one, two, three = self.name("s"), self.name("s"), self.name("s")
            self.line(f"{one}, {two}, {three} = tl.associative_scan(({x} % 3 + 3, {x} % 5 + 5, {x}), {axis}, {self.helper('affine')}{reverse})")
            self.line(f"{acc} = {acc} + (({one} + {two} * 2 + {three}) % 8).to(tl.float32)")
        elif kind < 0.7:
            v, i = self.name("v"), self.name("i")
            self.line(f"{v}, {i} = tl.reduce(({x}, {index}), {axis}, {self.helper('largest')})")
            self.line(f"{acc} = tl.where({index} == {i}{view}, {acc}, {acc} - {rng.randint(0, 2)}.0) + ({v}{view} % 4).to(tl.float32)")
            if self.chance(0.4):
                last, at = self.name("v"), self.name("i")
                self.line(f"{last}, {at} = tl.reduce(({v}, {i}), 0, {self.helper('largest')})")
                self.ints.append((at, False))
        else:
            low, high, count = self.name("low"), self.name("high"), self.name("count")
            where = f"{x} > 0" if self.chance(0.5) else f"{x} % 2 == 0"
            text = f"tl.reduce(({x}, {x} * 2, ({where}).to(tl.int32)), {axis}, {self.helper('spread')})"
            self.line(f"{low}, {high}, {count} = {text}")
            self.line(f"{acc} = {acc} + (({high} - {low} + {count}) % 6).to(tl.float32){view}")

    def count(self):
        """Something with an integer."""
        rng = self.rng
        free = [name for name, may in self.ints if may]
        kind = rng.random()
        if free and kind < 0.5:
            name = rng.choice(free)
            self.line(rng.choice([f"{name} += 1", f"{name} = ({name} * 3 + 1) % 7", f"{name} = {self.integer(9)}",
                                  f"{name} = tl.where({self.condition()}, {name}, {self.integer(5)})", f"{name} ^= 1"]))
        elif kind < 0.7:
            self.ints.append((self.let("n", f"{self.helper('steps')}({self.integer(20)}, 30)"), False))
        elif kind < 0.85:
            table = self.buffer(rng.choice(["int32", "int64", "uint8"]), 8, self.numbers.integers(0, 6, 8))
            self.ints.append((self.let("n", f"tl.load({table.name} + {self.integer(8)}).to(tl.int32)"), False))
        else:
            self.ints.append((self.let("n", f"{self.integer(9)} + 0 * {self.scalar(1)}"), True))

    def keep(self):
        """Stores a sum, or adds it to memory."""
        shape = self.rng.choice([shape for shape, names in self.tiles.items() if names] or [None])
        if shape:
            self.store(self.sum_of(shape), shape, atomic=self.chance(0.3))

    def store(self, value, shape, atomic=False):
        blocks = 1 + 2 * bool(self.loops)
        buffer = self.buffer("float32", shape[0] * shape[1] * blocks)
        at = f" + {self.integer(blocks)} * {shape[0] * shape[1]}" if blocks > 1 else ""
        strides = self.rng.choice([(shape[1], 1), (shape[1], 1), (1, shape[0])])
        rows, columns = f"tl.arange(0, {shape[0]})", f"tl.arange(0, {shape[1]})"
        mask = f", mask={rows}[:, None] < {self.rng.randint(1, shape[0])}" if self.chance(0.2) else ""
        self.line(f"tl.{'atomic_add' if atomic else 'store'}({buffer.name}{at} + {rows}[:, None] * {strides[0]} + {columns}[None, :] * {strides[1]}, "
                  f"{value}{mask})")

    def block(self, count):
        """Statements one level deeper; what they name is forgotten behind them."""
        kept = {k: list(v) for k, v in self.tiles.items()}, {k: list(v) for k, v in self.operands.items()}, list(self.ints)
        self.depth += 1
        before = len(self.lines)
        self.statements(count)
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1
        self.tiles, self.operands, self.ints = kept

    def loop(self):
        rng = self.rng
        kind = rng.random()
        trips = rng.choice([0, 1, 2, 2, 3, 4]) if len(self.loops) < 1 else rng.choice([0, 1, 2, 3])
        end = self.integer(trips + 1) if self.chance(0.3) else self.scalar(trips) if self.chance(0.7) else str(trips)
        index = self.name("i")
        kept = list(self.ints)
        self.loops.append(index)
        if kind < 0.65:
            form = rng.choice(["range({})", "range({})", "tl.range({})", "range({} - 1, -1, -1)", "range(0, 2 * {}, 2)", "tl.range(0, {}, num_stages=3)",
                               "tl.static_range(%d)" % min(trips, 2)])
            self.line(f"for {index} in {form.format(end)}:")
            self.ints.append((index, False))
            self.block(rng.randint(1, 5))
            if self.chance(0.25):
                self.leave(["continue", "break", "break"])
        else:
            self.line(f"{index} = {end}")
            test = rng.choice([f"{index} > 0", f"{index} > 0", f"{index} > 0 and ({self.condition()})", f"(left{index} := {index}) > 0"])
            self.line(f"while {test}:")
            self.line(f"    {index} -= 1")
            self.ints.append((index, False))
            self.block(rng.randint(1, 5))
            if self.chance(0.2):
                self.leave(["break"])
        self.loops.pop()
        self.ints = kept

    def leave(self, kinds):
        """An early exit at the end of the loop's text, and a statement behind it."""
        self.depth += 1
        self.line(f"if {self.condition()}:")
        self.line(f"    {self.rng.choice(kinds)}")
        kept = {k: list(v) for k, v in self.tiles.items()}, {k: list(v) for k, v in self.operands.items()}, list(self.ints)
        self.product() if self.chance(0.5) else self.change()
        self.tiles, self.operands, self.ints = kept
        self.depth -= 1

    def branch(self):
        self.line(f"if {self.condition()}:")
        self.block(self.rng.randint(1, 3))
        if self.chance(0.3):
            self.line(f"elif {self.condition()}:")
            self.block(self.rng.randint(1, 2))
        if self.chance(0.4):
            self.line("else:")
            self.block(self.rng.randint(1, 3))
        if self.chance(0.06) and not self.loops:
            self.line(f"if {self.condition()}:")
            self.line("    return")

    def statements(self, count):
        for _ in range(count):
            if self.budget <= 0:
                return
            self.budget -= 1
            kind = self.rng.random()
            if kind < 0.16 and self.depth < 5:
                self.loop()
            elif kind < 0.28 and self.depth < 5:
                self.branch()
            elif kind < 0.62:
                self.product()
            elif kind < 0.78:
                self.change()
            elif kind < 0.88:
                self.count()
            elif kind < 0.94 and any(self.operands.values()):
                shape = self.rng.choice([shape for shape, names in self.operands.items() if names])
                self.line(f"{self.rng.choice(self.operands[shape])} = {self.load(shape)}")
            else:
                self.keep()

    def generate(self):
        rng, p = self.rng, self.program
        self.dtype = rng.choice(["float16", "float16", "float16", "bfloat16", "bfloat16", "float8e4nv", "float8e5", "float32"])
        self.extents = sorted({rng.choice(EXTENTS[:6] if self.dtype.startswith("float8") else EXTENTS) for _ in range(3)})
        while np.prod(sorted(self.extents)[-2:] + [max(self.extents)]) > 128 * 64 * 64:
            self.extents = self.extents[:-1] + [32] if len(self.extents) > 1 else [32]
        if self.dtype.startswith("float8") and max(self.extents) < 32:
            self.extents = [32]
        p.grid = (rng.choice([1, 1, 2, 3]),)
        p.options = dict(num_warps=rng.choice([1, 2, 4, 4, 8]), num_stages=rng.randint(1, 4))
        self.sources = {}
        for _ in range(rng.randint(2, 3)):
            shape = rng.choice(self.shapes())
            self.sources.setdefault(shape, []).append(self.matrix(shape, self.dtype))
        self.ints = [("tl.program_id(0)", False), (self.scalar(rng.randint(0, 4)), False), (self.scalar(1), False)]
        self.ints.append((self.let("n", self.integer(6)), True))
        for _ in range(2):
            self.sum_of(rng.choice(self.shapes()))
        isMany = p.grid != (1,)
        self.line("if tl.program_id(0) >= 0:" if isMany and self.chance(0.3) else "if True:")
        self.lines.pop()
        self.loop() if self.chance(0.6) else None
        self.statements(rng.randint(2, 7))
        for shape, names in list(self.tiles.items()):
            for name in names[-2:]:
                self.store(name, shape)
        names = [buffer.name for buffer in p.buffers] + list(p.scalars)
        helpers = []
        for name in HELPERS:
            if name in self.used:
                helpers += ["", "", "@triton.jit", HELPERS[name].rstrip("\n")]
        p.source = "\n".join(["import tegula as triton", "import tegula.language as tl", *helpers, "", "", "@triton.jit",
                              f"def kernel({', '.join(names)}):", *self.lines]) + "\n"
        # Programs would meet in what they store: each has blocks of its own, by the number behind its buffers' names.
        if isMany:
            p.source = self.apart(p)
        return p

    def apart(self, p):
        text = p.source
        for buffer in p.buffers:
            if buffer.isWritten:
                size = buffer.count
                buffer.count, buffer.values = size * p.grid[0], np.zeros(size * p.grid[0], buffer.values.dtype)
                for verb in ("store", "atomic_add"):
                    text = text.replace(f"tl.{verb}({buffer.name} +", f"tl.{verb}({buffer.name} + tl.program_id(0) * {size} +")
        return text


def generate(seed):
    for attempt in range(200):
        program = Generator(seed, attempt).generate()
        try:
            program.right = run(program)
        except Refused:
            continue
        return program
    raise AssertionError(f"no program of seed {seed} is exact")


# --- the meaning -----------------------------------------------------------------------------------


class Value(np.ndarray):
    """Wide numbers, none of which changes in place."""

    def to(self, dtype):
        if isinstance(dtype, tuple):
            return Pointer(Pointer.all[int(self)])
        if dtype in FLOATS:
            check(self, FLOATS[dtype])
            return value(np.asarray(self).astype(np.float64))
        return value(np.asarray(self).astype(np.int64))

    def __iadd__(self, other):
        return self + other

    def __isub__(self, other):
        return self - other

    def __imul__(self, other):
        return self * other

    def __ixor__(self, other):
        return self ^ other

    def __mod__(self, other):  # as in C
        return value(np.fmod(np.asarray(self), np.asarray(other)))


def value(x):
    return np.asarray(x).view(Value)


class Work:
    left = 0


def spend():
    """Ends programs that are long for a test."""
    Work.left -= 1
    if Work.left < 0:
        raise Refused("it runs long")


def check(x, most):
    spend()
    if np.abs(np.asarray(x, np.float64)).max(initial=0) > most:
        raise Refused("a value that its type does not hold")


class Pointer:
    all = []  # memory by the number of a buffer

    def __init__(self, memory, offset=0):
        self.memory, self.offset = memory, offset

    def __add__(self, offset):
        return Pointer(self.memory, self.offset + np.asarray(offset))


class Block:
    def __init__(self, base, shape, strides, offsets, block, order):
        at = [np.arange(extent).reshape([-1 if a == axis else 1 for a in range(len(block))]) for axis, extent in enumerate(block)]
        self.pointer = base + sum(i * int(stride) for i, stride in zip(at, strides))
        self.inside = [np.broadcast_to(i < int(extent), block) for i, extent in zip(at, shape)]


def load(pointer, mask=True, other=0, boundary_check=(), padding_option=""):
    if isinstance(pointer, Block):
        for axis in boundary_check:
            mask = mask & pointer.inside[axis]
        pointer = pointer.pointer
    spend()
    offset, active = np.broadcast_arrays(np.asarray(pointer.offset, np.int64), np.asarray(mask))
    used = offset[active]
    if used.size and (used.min() < 0 or used.max() >= pointer.memory.size):
        raise Refused("memory is missed")
    wide = np.int64 if pointer.memory.dtype.kind in "iu" else np.float64
    return value(np.where(active, pointer.memory[np.where(active, offset, 0)].astype(wide), other))


def access(pointer, x, mask):
    offset, x, active = np.broadcast_arrays(np.asarray(pointer.offset, np.int64), np.asarray(x), mask)
    used = offset[active]
    if used.size and (used.min() < 0 or used.max() >= pointer.memory.size):
        raise Refused("memory is missed")
    check(x[active], 2**24)
    return used, x[active].astype(pointer.memory.dtype)


def store(pointer, x, mask=True):
    at, x = access(pointer, x, mask)
    pointer.memory[at] = x


def atomic_add(pointer, x, mask=True):
    at, x = access(pointer, x, mask)
    np.add.at(pointer.memory, at, x)


def dot(a, b, acc=0):
    product = np.asarray(a) @ np.asarray(b)
    check(np.abs(np.asarray(a)) @ np.abs(np.asarray(b)) + np.abs(np.asarray(acc)), 2**24)
    return value(product + np.asarray(acc))


def scan(values, axis, combine, reverse=False, isReduction=False):
    moved = [np.moveaxis(np.asarray(x), axis, 0)[::-1 if reverse else 1] for x in values]
    held, kept = [value(x[0]) for x in moved], []
    Work.left -= 10
    for i in range(len(moved[0])):
        if i:
            held = combine(*held, *(value(x[i]) for x in moved))
        kept.append(held)
    if isReduction:
        return tuple(value(x) for x in held)
    whole = [np.stack([np.asarray(row[n]) for row in kept])[::-1 if reverse else 1] for n in range(len(values))]
    return tuple(value(np.moveaxis(x, 0, axis)) for x in whole)


def trips(*ends, num_stages=0):
    return map(value, range(*map(int, ends)))


def language(place, count):
    tl = types.SimpleNamespace(**{name: name for name in [*FLOATS, "int8", "int32", "int64"]}, constexpr=int)
    tl.program_id, tl.num_programs = (lambda axis: value(place)), (lambda axis: value(count))
    tl.range = tl.static_range = trips
    tl.load, tl.store, tl.atomic_add, tl.dot, tl.make_block_ptr = load, store, atomic_add, dot, Block
    tl.pointer_type = lambda dtype: ("pointer", dtype)
    tl.arange = lambda begin, end: value(np.arange(begin, end))
    tl.zeros = lambda shape, dtype: value(np.zeros(shape))
    tl.full = lambda shape, x, dtype: value(np.full(shape, float(x)))
    tl.trans, tl.permute = (lambda x: x.T), (lambda x, order: x.transpose(order))
    tl.reshape = lambda x, shape: x.reshape(shape)
    tl.broadcast_to = lambda x, shape: value(np.broadcast_to(x, shape))
    tl.where = lambda condition, x, y: spend() or value(np.where(condition, x, y))
    tl.maximum, tl.minimum = (lambda x, y: spend() or value(np.maximum(x, y))), (lambda x, y: value(np.minimum(x, y)))
    tl.sum = lambda x, axis=None, keep_dims=False: value(np.sum(np.asarray(x), axis=axis, keepdims=keep_dims))
    tl.max = lambda x, axis=None, keep_dims=False: value(np.max(np.asarray(x), axis=axis, keepdims=keep_dims))
    tl.reduce = lambda values, axis, combine: scan(values, axis, combine, isReduction=True)
    tl.associative_scan = scan

    def randint(seed, offset):
        words = philox.philox4x32(int(seed), np.asarray(offset).reshape(-1))[0]
        return value(words.reshape(np.asarray(offset).shape).astype(np.int64))
    tl.randint = randint
    return tl


def run(program):
    """The memory after the program; Refused where that depends on roundings."""
    arrays = program.memory()
    Pointer.all, Work.left = arrays, 600
    text = program.source.split("import tegula.language as tl\n")[1].replace("@triton.jit", "")
    code = compile(text, f"seed {program.seed}", "exec")
    for place in range(program.grid[0]):
        scope = {"tl": language(place, program.grid[0]), "range": trips}
        exec(code, scope)
        scope["kernel"](*map(Pointer, arrays), *map(value, program.scalars.values()))
    return arrays


def expected(program):
    return program.right


if __name__ == "__main__":
    made = generate(int(sys.argv[1]))
    print(made.source)
    print("#", made.grid, made.scalars, made.options)
    for each in made.buffers:
        print("#", each.name, each.dtype, each.count)
