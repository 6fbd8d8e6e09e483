"""Random kernels with matrix products in loops: seed -> source text, arguments, launch options, and what must come out.

All values are small integers, and `high` bounds each, so that every sum is exact in f32 and every operand in its type: two right
executions leave the same bits behind. `expected` runs the program's own text as plain Python on NumPy's wide numbers, with no types
and no code of the compiler. Products and their loops vary in types, extents, storage orders, views, masks, wrapping, walking
pointers, conditions, operations on operands and sums, second products of first ones, batches, stages and warps.

`python3 test/fuzz/dot_programs.py SEED [buffered]` prints the program of a seed. In form "buffered" operands of 8 and 16 bits are also
carried through loops, come out of branches, and out of products in 16 bits.
"""
import random
import sys
import types
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

EXTENTS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 64]
MOST_PRODUCTS = 9000  # of one tl.dot: what the PTX machine does in a moment
EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "int8": 127, "int32": 2**31}
SMALL = {"float16": 3, "bfloat16": 3, "float32": 6, "int8": 5, "int32": 9}
NUMPY = {"bfloat16": ml_dtypes.bfloat16}


def numpy_type(name):
    return np.dtype(NUMPY.get(name, name))


@dataclass
class Buffer:
    name: str
    dtype: str
    count: int
    high: int  # of its values; 0: what the kernel writes


@dataclass
class Program:
    seed: int
    source: str = ""
    buffers: list = field(default_factory=list)
    scalars: dict = field(default_factory=dict)
    grid: tuple = (1,)
    options: dict = field(default_factory=dict)

    def memory(self):
        rng = np.random.default_rng(self.seed)
        return [rng.integers(-b.high, b.high + 1, b.count).astype(numpy_type(b.dtype)) for b in self.buffers]


@dataclass
class Operand:
    """A matrix in memory of which each trip takes a block of `rows` x `columns`."""
    name: str
    dtype: str
    rows: int
    columns: int
    high: float


class Generator:
    def __init__(self, seed, buffered=False):
        self.rng = random.Random(f"dots {'buffered ' if buffered else ''}{seed}")
        self.buffered = buffered
        self.program = Program(seed)
        self.lines, self.depth, self.counter = [], 1, 0
        self.growth = 0  # of a sum, in one trip

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, share):
        return self.rng.random() < share

    def buffer(self, dtype, count, high):
        buffer = Buffer(f"p{len(self.program.buffers)}", dtype, count, high)
        self.program.buffers.append(buffer)
        return buffer

    def scalar(self, value):
        name = f"n{len(self.program.scalars)}"
        self.program.scalars[name] = value
        return name

    # --- one operand ---

    def indices(self, extent):
        """The name of an arange; one for each extent and use."""
        name = self.name("i")
        self.line(f"{name} = tl.arange(0, {extent})")
        return name

    def prepare(self, dtype, rows, columns, inner, trips):
        """A matrix whose blocks lie along `inner` (0 rows, 1 columns); what to write before the loop and in it."""
        extents = [rows, columns]
        whole = list(extents)
        whole[inner] *= max(trips, 1)
        valid = [max(1, extent - self.rng.randrange(extent)) if self.chance(0.5) else extent for extent in whole]
        order = self.rng.choice([(0, 1), (1, 0)])  # which index is the slow one
        slow, fast = order
        stride = valid[fast] + self.rng.choice([0, 0, 1, 3])
        strides = [0, 0]
        strides[slow], strides[fast] = stride, 1
        memory = self.rng.choice(["int8", dtype]) if dtype in ("float16", "bfloat16") and self.chance(0.2) else dtype
        high = SMALL[dtype]
        buffer = self.buffer(memory, valid[slow] * stride, high)
        flipped = self.chance(0.35)  # the tile is loaded the other way round and transposed
        at = [self.indices(rows), self.indices(columns)]
        outer = 1 - inner
        wraps = valid[outer] < whole[outer] and self.chance(0.4)
        if wraps:
            self.line(f"{at[outer]} = {at[outer]} % {self.scalar(valid[outer])}")
        spread = ("[None, :]", "[:, None]") if flipped else ("[:, None]", "[None, :]")
        block = extents[inner]
        limit = [self.scalar(valid[0]) if valid[0] != rows or inner == 0 else str(valid[0]),
                 self.scalar(valid[1]) if valid[1] != columns or inner == 1 else str(valid[1])]
        walks = self.chance(0.5)
        pointers = self.name("ptr")
        text = " + ".join(f"{at[axis]}{spread[axis]} * {strides[axis]}" for axis in (0, 1))
        if walks:
            self.line(f"{pointers} = {buffer.name} + ({text})")

        def mask(trip):
            terms = []
            if valid[inner] != block * max(trips, 1) or self.chance(0.3) or trips == 0:
                terms.append(f"({at[inner]}{spread[inner]} < {limit[inner]} - {trip} * {block})" if self.chance(0.5) else
                             f"({trip} * {block} + {at[inner]}{spread[inner]} < {limit[inner]})")
            if not wraps and valid[outer] != whole[outer]:
                terms.append(f"({at[outer]}{spread[outer]} < {limit[outer]})")
            return " & ".join(terms)

        def load(trip):
            where = pointers if walks else f"{buffer.name} + ({text}) + {trip} * {block * strides[inner]}"
            guard = mask(trip)
            other = self.rng.choice(["", ", other=0", f", other={self.rng.randint(0, high)}"]) if guard else ""
            expression = f"tl.load({where}{', mask=' + guard if guard else ''}{other})"
            if memory != dtype:
                expression = f"{expression}.to(tl.{dtype})"
            if flipped:
                expression = self.rng.choice(["tl.trans({})", "tl.permute({}, (1, 0))", "({}).T"]).format(expression)
            return expression

        def advance():
            if walks:
                self.line(f"{pointers} += {block * strides[inner]}")

        return Operand("", dtype, rows, columns, high), load, advance

    def changed(self, tile, trip):
        """Operations on an operand that keep it exact in its type."""
        cast = f".to(tl.{tile.dtype})"
        zero = "0" if tile.dtype == "int8" else "0.0"
        shape = f"[{tile.rows}, {tile.columns}]"
        forms = [
            (f"-{tile.name}", tile.high), (f"tl.abs({tile.name})", tile.high), (f"({tile.name} + {tile.name}){cast}", 2 * tile.high),
            (f"tl.maximum({tile.name}, {zero}){cast}" if tile.dtype != "int8" else f"tl.where({tile.name} > 0, {tile.name}, 0){cast}",
             tile.high),
            (f"tl.where({tile.name} == 1, {zero}, {tile.name}){cast}", tile.high),
            (f"({tile.name}.to(tl.float32) * 2.0 - 1.0){cast}", 2 * tile.high + 1),
            (f"({tile.name} + {trip}){cast}", tile.high + 4),
            (f"tl.where(tl.arange(0, {tile.rows})[:, None] > tl.arange(0, {tile.columns})[None, :], {tile.name}, {zero}){cast}", tile.high),
            (f"tl.where(tl.zeros({shape}, tl.int32) + {trip} > 0, {tile.name}, -{tile.name}){cast}", tile.high),
        ]
        text, high = self.rng.choice(forms)
        if high > 20:
            return tile
        name = self.name("t")
        self.line(f"{name} = {text}")
        return Operand(name, tile.dtype, tile.rows, tile.columns, high)

    # --- the product and its sum ---

    def extents(self):
        while True:
            m, n, k = (self.rng.choice(EXTENTS) for _ in range(3))
            if m * n * k <= MOST_PRODUCTS:
                return m, n, k

    def options_of(self, dtype):
        if dtype == "float32":
            return self.rng.choice(["", ', input_precision="tf32"', ', input_precision="ieee"', ", allow_tf32=False"])
        return self.rng.choice(["", ", out_dtype=tl.float32"]) if dtype != "int8" else ""

    def summed(self, a, b, acc, condition):
        """One statement that adds the product of two operands to the sum, or keeps it."""
        options = self.options_of(a.dtype)
        forms = [f"{acc} += tl.dot({a.name}, {b.name}{options})", f"{acc} = tl.dot({a.name}, {b.name}, {acc}{options})",
                 f"{acc} = tl.dot({a.name}, {b.name}, acc={acc}{options})", f"{acc} = {acc} + tl.dot({a.name}, {b.name}{options})",
                 f"{acc} -= tl.dot({a.name}, {b.name}{options})", f"{acc} = tl.dot({a.name}, {b.name}{options}) - {acc}",
                 f"{acc} = tl.maximum({acc}, tl.dot({a.name}, {b.name}{options}))",
                 f"{acc} = tl.where({condition}, tl.dot({a.name}, {b.name}, {acc}{options}), {acc})",
                 f"{acc} = tl.trans(tl.dot(tl.trans({b.name}), tl.trans({a.name}){options})) + {acc}"]
        self.line(self.rng.choice(forms[:4] * 2 + forms))

    def clamped(self, value, dtype):
        """A product's result as an operand of the next."""
        zero = self.rng.choice(["-4.0", "0.0"])
        return f"tl.minimum(tl.maximum({value}, {zero}), 4.0).to(tl.{dtype})"

    def epilogue(self, acc, m, n, dtype, high):
        """(name, dtype, bound) of what is stored."""
        for _ in range(self.rng.randint(0, 2)):
            form = self.rng.choice(["double", "bias", "relu", "rows"])
            name = self.name("e")
            if form == "double":
                self.line(f"{name} = {acc} * 2")
                high *= 2
            elif form == "bias":
                bias = self.buffer(dtype, n, 9)
                self.line(f"{name} = {acc} + tl.load({bias.name} + tl.arange(0, {n}))[None, :]")
                high += 9
            elif form == "relu":
                self.line(f"{name} = tl.where({acc} > 0, {acc}, {'0' if dtype == 'int32' else '0.0'})")
            else:
                self.line(f"{name} = {acc} - tl.max({acc}, axis=1)[:, None]")
                high *= 2
            acc = name
        small = [name for name in ("float16", "bfloat16") if high <= EXACT[name]] if dtype != "int32" else []
        if small and self.chance(0.5):
            dtype = self.rng.choice(small)
            name = self.name("e")
            self.line(f"{name} = {acc}.to(tl.{dtype})")
            acc = name
        return acc, dtype, high

    def store(self, value, m, n, dtype):
        shape = [m, n]
        if self.chance(0.3):
            value, shape = f"tl.trans({value})", [n, m]
        buffer = self.buffer(dtype, m * n, 0)
        rows, columns = (f"tl.arange(0, {extent})" for extent in shape)
        mask = "" if self.chance(0.5) else f", mask={rows}[:, None] < {self.scalar(self.rng.randint(0, shape[0]))}"
        self.line(f"tl.store({buffer.name} + {rows}[:, None] * {shape[1]} + {columns}[None, :], {value}{mask})")

    # --- whole programs ---

    def loop(self, trips):
        """Opens a loop; the text of the trip's number."""
        count, trip = self.scalar(trips), self.name("trip")
        stages = f", num_stages={self.rng.randint(1, 4)}"
        self.line(self.rng.choice([f"for {trip} in range({count}):", f"for {trip} in range(0, {count}):",
                                   f"for {trip} in tl.range({count}):", f"for {trip} in tl.range(0, {count}{stages}):"]))
        self.depth += 1
        return trip

    def products(self):
        """Products of blocks in a loop, like a matrix product; a second product of the first like attention."""
        dtype = self.rng.choice(["float16", "bfloat16", "float16", "bfloat16", "float32", "int8"])
        sums = "int32" if dtype == "int8" else "float32"
        m, n, k = self.extents()
        trips = self.rng.choice([0, 1, 2, 3, 4, 5])
        second = dtype != "int8" and self.chance(0.4)
        carried = self.buffered and self.chance(0.6)
        still_a = self.chance(0.3)  # the left operand stays, as q does
        a, load_a, advance_a = self.prepare(dtype, m, k, 1, 1 if still_a else trips)
        b, load_b, advance_b = self.prepare(dtype, k, n, 1 if still_a else 0, trips + carried)
        last = self.rng.choice([extent for extent in EXTENTS if m * n * extent <= MOST_PRODUCTS]) if second else n
        if second:
            c, load_c, advance_c = self.prepare(dtype, n, last, 0, trips)
        acc, flag = self.name("acc"), self.scalar(self.rng.randint(0, 3))
        if self.chance(0.2):
            start = self.buffer(sums, m * last, 20)
            self.line(f"{acc} = tl.load({start.name} + tl.arange(0, {m})[:, None] * {last} + tl.arange(0, {last})[None, :])")
        else:
            self.line(self.rng.choice([f"{acc} = tl.zeros([{m}, {last}], dtype=tl.{sums})", f"{acc} = tl.zeros(({m}, {last}), tl.{sums})",
                                       f"{acc} = tl.full([{m}, {last}], {self.rng.randint(0, 5)}, tl.{sums})"]))
        if still_a:
            a.name = self.name("a")
            self.line(f"{a.name} = {load_a('0')}")
            if self.chance(0.4):
                a = self.changed(a, flag)
        if carried:
            b.name = self.name("b")
            self.line(f"{b.name} = {load_b('0')}")
        total = self.name("total")
        counts = second and self.chance(0.5)
        if counts:
            self.line(f"{total} = tl.zeros([{m}], tl.float32)")
        trip = self.loop(trips)
        self.body(locals())
        self.depth -= 1
        high = 20 + trips * self.growth
        if counts:
            self.line(f"{acc} = {acc} + {total}[:, None]")
            high += trips * n * 4
        value, out, _ = self.epilogue(acc, m, last, sums, high)
        self.store(value, m, last, out)

    def body(self, known):
        """The loop's text; `known` are the variables of `products`."""
        a, b, trip, flag, acc = (known[name] for name in ("a", "b", "trip", "flag", "acc"))
        m, n = known["m"], known["n"]
        loads = []
        if not known["still_a"]:
            loads.append((a, known["load_a"], "a"))
        if not known["carried"]:
            loads.append((b, known["load_b"], "b"))
        self.rng.shuffle(loads)
        for tile, load, prefix in loads:
            tile.name = self.name(prefix)
            self.line(f"{tile.name} = {load(trip)}")
        if loads and self.buffered and self.chance(0.3):  # another value under a condition, decided at run time
            tile = loads[0][0]
            self.line(f"if {self.rng.choice([f'{flag} > 1', f'{trip} % 2 == 0', f'{trip} < {flag}'])}:")
            self.depth += 1
            self.line(f"{tile.name} = {loads[0][1](trip)}" if self.chance(0.5) else f"{tile.name} = -{tile.name}")
            self.depth -= 1
        used = []
        for tile in (a, b):
            tile = Operand(tile.name, tile.dtype, tile.rows, tile.columns, tile.high)
            used.append(self.changed(tile, trip) if self.chance(0.35) else tile)
        if known["carried"]:
            following = self.name("next")
            if known["advance_b"]:
                known["advance_b"]()
            self.line(f"{following} = {known['load_b'](f'({trip} + 1)')}")
        self.growth = n * 4 * known["c"].high if known["second"] else a.columns * used[0].high * used[1].high
        if known["second"]:
            self.chain(known, *used)
        elif self.chance(0.15):
            self.line(f"if {self.rng.choice([f'{flag} > 1', f'{trip} % 2 == 0'])}:")
            self.depth += 1
            self.summed(*used, acc, f"tl.arange(0, {m})[:, None] >= {trip}")
            self.depth -= 1
        else:
            self.summed(*used, acc, f"tl.arange(0, {m})[:, None] + tl.arange(0, {n})[None, :] >= {trip}")
        if not known["still_a"]:
            known["advance_a"]()
        if known["carried"]:
            self.line(f"{b.name} = {following}")
        else:
            known["advance_b"]()
        if known["second"]:
            known["advance_c"]()

    def chain(self, known, a, b):
        """A product, something of it in the operands' type, and a product of that."""
        c, trip, acc, m, n = (known[name] for name in ("c", "trip", "acc", "m", "n"))
        scores, p = self.name("s"), self.name("p")
        if self.buffered and a.dtype == "float16" and self.chance(0.8):
            fits = a.high * b.high * a.columns <= EXACT["float16"]
            self.line(f"{scores} = tl.dot({a.name}, {b.name}{', out_dtype=tl.float16' if fits else ''})")
        else:
            self.line(f"{scores} = tl.dot({a.name}, {b.name}{self.options_of(a.dtype)})")
        if self.chance(0.4):
            self.line(f"{scores} = tl.where(tl.arange(0, {m})[:, None] >= tl.arange(0, {n})[None, :] - {trip}, {scores}, 0.0)")
        if self.chance(0.3):
            self.line(f"{scores} = {scores} - tl.max({scores}, 1)[:, None] + 2.0")
        self.line(f"{p} = {self.clamped(scores, a.dtype)}")
        if known["counts"]:
            self.line(f"{known['total']} += tl.sum({p}.to(tl.float32), axis=1)")
        if self.chance(0.3):
            sign = self.name("sign")
            self.line(f"{sign} = tl.where(tl.sum({p}.to(tl.float32), 1) > 3.0, 1.0, -1.0)")
            self.line(f"{acc} = {acc} * {sign}[:, None]")
        c.name = self.name("c")
        self.line(f"{c.name} = {known['load_c'](trip)}")
        left = Operand(p, a.dtype, m, n, 4)
        self.summed(left, c, acc, f"tl.arange(0, {m})[:, None] >= {trip}")

    def batches(self):
        """Products of tiles of three dimensions."""
        dtype = self.rng.choice(["float16", "bfloat16", "float32"])
        count = self.rng.choice([1, 2, 3, 4])
        m, n, k = self.extents()
        while m * n * k * count > MOST_PRODUCTS:
            m, n, k = self.extents()
        trips = self.rng.randint(0, 3)
        a, b = self.buffer(dtype, count * m * k * max(trips, 1), 3), self.buffer(dtype, count * k * n * max(trips, 1), 3)
        def index(extents):
            strides = [extents[1] * extents[2], extents[2], 1]
            views = ["[:, None, None]", "[None, :, None]", "[None, None, :]"]
            return " + ".join(f"tl.arange(0, {extent}){view} * {stride}" for extent, view, stride in zip(extents, views, strides))
        self.line(f"acc = tl.zeros([{count}, {m}, {n}], tl.float32)")
        trip = self.loop(trips)
        flipped = self.chance(0.5)
        self.line(f"a = tl.load({a.name} + {trip} * {count * m * k} + {index([count, m, k])})")
        shape = [count, n, k] if flipped else [count, k, n]
        self.line(f"b = tl.load({b.name} + {trip} * {count * k * n} + {index(shape)})")
        text = "tl.permute(b, (0, 2, 1))" if flipped else "b"
        self.line(self.rng.choice([f"acc += tl.dot(a, {text})", f"acc = tl.dot(a, {text}, acc)"]))
        self.depth -= 1
        out = self.buffer("float32", count * m * n, 0)
        self.line(f"tl.store({out.name} + {index([count, m, n])}, acc)")

    def generate(self):
        for _ in range(2 if self.chance(0.15) else 1):
            self.batches() if self.chance(0.1) else self.products()
        self.program.options = dict(num_warps=self.rng.choice([1, 2, 4, 8]), num_stages=self.rng.randint(1, 4))
        parameters = [buffer.name for buffer in self.program.buffers] + list(self.program.scalars)
        header = ["import tegula as triton", "import tegula.language as tl", "", "", "@triton.jit",
                  f"def kernel({', '.join(parameters)}):"]
        self.program.source = "\n".join(header + self.lines) + "\n"
        return self.program


def generate(seed, buffered=False):
    return Generator(seed, buffered).generate()


# --- the meaning -----------------------------------------------------------------------------------


class Tile(np.ndarray):
    """Wide numbers in which all of a program's values are exact; conversions change nothing."""

    def to(self, dtype):
        return self


def wide(array):
    return np.asarray(array).astype(np.float64).view(Tile)


class Pointer:
    def __init__(self, memory, offset=0):
        self.memory, self.offset = memory, offset

    def __add__(self, offset):
        return Pointer(self.memory, self.offset + offset)


def load(pointer, mask=True, other=0):
    offset, active = np.broadcast_arrays(np.asarray(pointer.offset, dtype=np.int64), mask)
    return wide(np.where(active, pointer.memory[np.where(active, offset, 0)].astype(np.float64), other))


def store(pointer, value, mask=True):
    offset, value, active = np.broadcast_arrays(np.asarray(pointer.offset, dtype=np.int64), value, mask)
    pointer.memory[offset[active]] = value[active].astype(pointer.memory.dtype)


def language():
    tl = types.SimpleNamespace(**{name: name for name in EXACT})
    tl.arange = lambda start, end: np.arange(start, end)
    tl.zeros = lambda shape, dtype: wide(np.zeros(shape))
    tl.full = lambda shape, value, dtype: wide(np.full(shape, value))
    tl.range = lambda *bounds, num_stages=0: range(*bounds)
    tl.load, tl.store = load, store
    tl.dot = lambda a, b, acc=0, **options: wide(a @ b + acc)
    tl.trans, tl.permute = (lambda x: x.T), (lambda x, order: x.transpose(order))
    tl.where = lambda condition, x, y: wide(np.where(condition, x, y))
    tl.maximum, tl.minimum, tl.abs = np.maximum, np.minimum, np.abs
    tl.sum, tl.max = (lambda x, axis: np.sum(x, axis=axis)), (lambda x, axis: np.max(x, axis=axis))
    return tl


def expected(program):
    """The memory after the program."""
    arrays = program.memory()
    scope = {"tl": language()}
    exec(compile(program.source.split("@triton.jit\n")[1], f"seed {program.seed}", "exec"), scope)
    scope["kernel"](*map(Pointer, arrays), *program.scalars.values())
    return arrays


if __name__ == "__main__":
    program = generate(int(sys.argv[1]), "buffered" in sys.argv)
    print(program.source)
    print("#", program.scalars, program.options)
    for buffer in program.buffers:
        print("#", buffer)
