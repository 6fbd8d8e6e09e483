"""Random kernels without undefined behaviour: seed -> source text, arguments, and how exact each result is.

Integers wrap and every division and shift is defined (N1 to N6), so integer programs agree bit by bit. Floats are kept in
classes, so that two right executions agree by the numerical contract:
  exact    values on which every operation is exact: sums in any order give the same bits
  free     any value; only operations that round once and do not contract (all of f16 and bf16; f32 `+ -` without `*`)
  product  an f32 product: not added to anything, since a target may contract (N10)
  approx   positive f32 values with a bound of the relative error; nothing discontinuous is done to them
Stores of one op have distinct addresses and programs write disjoint ranges: no program is racy (memory-model.md).

Overlapping programs are of one instance and of integers: all their buffers lie in one piece of memory, across each other.
Moving programs scan, gather, flip, join, split, permute and count, too. Held programs are 2-D and multiply, sort and turn besides:
results of one op with a buffer are operands of another, at once and carried by a loop.
Pointer programs choose addresses when they run: loops that swap pointers or carry tiles of them, branches, `tl.where`,
integers on the way; each reads its neighbours' elements of what it has stored.
Programs with exits leave loops, branches and helpers early: in loops within loops of every kind.

`python3 test/fuzz/generator.py SEED [overlapping|moving|held|pointers|exits]` prints the program of a seed.
"""
import math
import random
import sys
from dataclasses import dataclass, field

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
HALVES = ["float16", "bfloat16"]
FLOATS = HALVES + ["float32"]
WIDTH = {name: int(name.lstrip("uintfloabnc")) for name in INTEGERS + ["float16", "float32"]} | {"bfloat16": 16}
# Integers up to this are exact in the type.
EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24}
U = 2.0**-24
FUNCTION_ERROR = 8 * U  # four units in the last place, of any function


def promote(a, b):
    """Two integer types -> the type of their sum, as the language has it."""
    if (a in SIGNED) == (b in SIGNED):
        return a if WIDTH[a] > WIDTH[b] else b
    unsigned, signed = (a, b) if a in UNSIGNED else (b, a)
    return unsigned if WIDTH[unsigned] >= WIDTH[signed] else signed


@dataclass(frozen=True)
class Value:
    text: str            # a name, or a literal
    dtype: str           # "bool" for conditions
    shape: tuple         # () for scalars
    kind: str = "int"    # int, bool, exact, free, product, approx
    high: float = 0.0    # magnitude bound of exact and approx
    relative: float = 0.0


@dataclass
class Buffer:
    name: str
    dtype: str
    count: int
    data: str            # ints, any, positive, zeros: what it is filled with
    relative: float = 0.0  # bound of |a - b| / |a| after the run; 0: the same bits
    offset: int = -1     # in bytes, where buffers overlap


@dataclass
class Program:
    seed: int
    source: str = ""
    buffers: list = field(default_factory=list)
    scalars: dict = field(default_factory=dict)
    grid: tuple = (1,)
    types: dict = field(default_factory=dict)  # name of a value -> (dtype, shape), for the reducer


def joined(a, b):
    """The shape of two shapes broadcast."""
    if not a or not b:
        return a or b
    return tuple(max(x, y) for x, y in zip(a, b))


class Generator:
    def __init__(self, seed, form=""):
        self.rng = random.Random(f"{form} {seed}" if form else seed)
        self.later = random.Random(f"{form} {seed} later")  # choices that leave those of older programs as they were
        self.of_dots = set()  # names of what tl.dot gave
        self.overlapping = overlapping = form == "overlapping"
        self.held = form == "held"
        self.step_table = self.STEPS + (self.MOVES if form in ("moving", "held") else []) + (self.HELD if self.held else [])
        self.choosing = form == "pointers"
        self.leaving = form == "exits"
        self.helper, self.helpers = "", []
        self.in_memory = INTEGERS if overlapping else INTEGERS + FLOATS
        self.program = Program(seed)
        self.lines = []
        self.depth = 1
        self.pool = []
        self.counter = 0

    # --- text ---

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, prefix="v"):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def let(self, expression, dtype, shape, kind, high=0.0, relative=0.0):
        value = Value(self.name(), dtype, shape, kind, high, relative)
        self.program.types[value.text] = (dtype, shape)
        self.line(f"{value.text} = {expression}")
        self.pool.append(value)
        return value

    # --- choices ---

    def pick(self, test, shape=None):
        """A value of the pool that passes, later ones preferred; None if none does."""
        found = [v for v in self.pool if test(v) and (shape is None or v.shape == shape)]
        return self.rng.choice(found[-6:]) if found else None

    def integer(self):
        return self.pick(lambda v: v.kind == "int")

    def literal(self, dtype):
        low = -100 if dtype in SIGNED else 0
        return Value(str(self.rng.randint(low, 100)), dtype, (), "int")

    def cast(self, value, dtype):
        if value.dtype == dtype or value.text.lstrip("-").isdigit():
            return value
        kind, high = "int", 0.0
        if dtype in FLOATS:
            kind, high = self.float_kind_of_cast(value, dtype)
        return self.let(f"{value.text}.to(tl.{dtype})", dtype, value.shape, kind, high)

    def float_kind_of_cast(self, value, dtype):
        high = {"bool": 1, "int": 2.0 ** WIDTH.get(value.dtype, 1), "exact": value.high}.get(value.kind)
        return ("exact", high) if high is not None and high <= EXACT[dtype] else ("free", 0.0)

    def condition(self, shape=None):
        known = self.pick(lambda v: v.kind == "bool", shape)
        return known if known and self.rng.random() < 0.6 else self.comparison()

    # --- one statement each; None when the pool has nothing for it ---

    def comparison(self):
        a = self.pick(lambda v: v.kind in ("int", "exact", "free", "product"))
        b = self.pick(lambda v: v.dtype == a.dtype and v.kind in ("int", "exact", "free", "product"))
        if self.rng.random() < 0.3 and a.kind == "int":
            b = self.literal(a.dtype)
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return self.let(f"{a.text} {op} {b.text}", "bool", joined(a.shape, b.shape), "bool")

    def logic(self):
        a, b = self.condition(), self.condition()
        if self.rng.random() < 0.2:
            return self.let(f"~{a.text}", "bool", a.shape, "bool")
        return self.let(f"{a.text} {self.rng.choice('&|^')} {b.text}", "bool", joined(a.shape, b.shape), "bool")

    def integer_arithmetic(self):
        a, b = self.integer(), self.integer()
        if self.rng.random() < 0.3:
            b = self.literal(a.dtype)
        op = self.rng.choice(["+", "-", "*", "+", "-", "&", "|", "^"])
        return self.let(f"{a.text} {op} {b.text}", promote(a.dtype, b.dtype), joined(a.shape, b.shape), "int")

    def integer_division(self):
        a, b = self.integer(), self.integer()
        dtype = self.rng.choice([a.dtype, b.dtype])
        a, b = self.cast(a, dtype), self.cast(b, dtype)
        if self.rng.random() < 0.4:
            b = Value(str(self.rng.choice([1, 2, 3, 7, 8, 10, 64, 100])), dtype, (), "int")
        op = self.rng.choice(["//", "%"])
        return self.let(f"{a.text} {op} {b.text}", dtype, joined(a.shape, b.shape), "int")

    def shift(self):
        a = self.integer()
        amount = self.integer()
        if self.rng.random() < 0.6:
            amount = Value(str(self.rng.randrange(WIDTH[a.dtype])), a.dtype, (), "int")
        else:
            amount = self.cast(amount, a.dtype)
        op = self.rng.choice(["<<", ">>"])
        return self.let(f"{a.text} {op} {amount.text}", a.dtype, joined(a.shape, amount.shape), "int")

    def unary(self):
        a = self.pick(lambda v: v.kind in ("int", "exact", "free", "product"))
        if a.kind == "int":
            return self.let(f"{self.rng.choice('-~')}{a.text}", a.dtype, a.shape, "int")
        text = self.rng.choice([f"-{a.text}", f"tl.abs({a.text})"])
        return self.let(text, a.dtype, a.shape, a.kind, a.high)

    def select(self):
        a = self.pick(lambda v: v.kind != "bool")
        b = self.pick(lambda v: v.dtype == a.dtype and v.kind != "bool" and (v.kind == "approx") == (a.kind == "approx"))
        shape = joined(a.shape, b.shape)
        if self.rng.random() < 0.5:
            condition = self.condition()
            text = f"tl.where({condition.text}, {a.text}, {b.text})"
            shape = joined(shape, condition.shape)
        else:
            text = f"tl.{self.rng.choice(['maximum', 'minimum'])}({a.text}, {b.text})"
        kinds = {a.kind, b.kind}
        kind = next(k for k in ("approx", "product", "free", "exact", "int") if k in kinds)
        dtype = a.dtype
        if text.startswith("tl.m") and dtype == "bfloat16":
            dtype = "float32"  # maximum and minimum promote bf16
        return self.let(text, dtype, shape, kind, max(a.high, b.high), max(a.relative, b.relative))

    def any_cast(self):
        a = self.pick(lambda v: v.kind not in ("approx",))
        return self.cast(a, self.rng.choice(INTEGERS + FLOATS))

    def float_arithmetic(self):
        a = self.pick(lambda v: v.kind in ("exact", "free"))
        if a is None:
            return None
        b = self.pick(lambda v: v.kind in ("exact", "free") and v.dtype == a.dtype)
        op = self.rng.choice("+-*")
        shape, kind, high = joined(a.shape, b.shape), "free", 0.0
        if a.kind == b.kind == "exact":
            high = a.high * b.high if op == "*" else a.high + b.high
            if high <= EXACT[a.dtype]:
                return self.let(f"{a.text} {op} {b.text}", a.dtype, shape, "exact", high)
        if op != "*" and self.of_dots & {a.text, b.text}:
            return None  # the sum may start from the other one, and round on the way
        if op == "*" and a.dtype == "float32":
            kind = "product"
        return self.let(f"{a.text} {op} {b.text}", a.dtype, shape, kind, high)

    def approximate(self):
        """Steps among positive values whose relative error is known."""
        a = self.pick(lambda v: v.kind == "approx")
        if a is None:
            return None
        b = self.pick(lambda v: v.kind == "approx")
        shape = joined(a.shape, b.shape)
        step = self.rng.choice(["+", "*", "/", "sqrt", "exp", "exp2", "rsqrt"])
        both = a.relative + b.relative
        if step in "+*":
            high = a.high + b.high if step == "+" else a.high * b.high
            if high > 64:
                return None
            return self.let(f"{a.text} {step} {b.text}", "float32", shape, "approx", high, both + 2 * U)
        if step == "/":
            # bounded from below by construction of the sum: the quotient stays below a.high
            return self.let(f"{a.text} / ({b.text} + 1.0)", "float32", shape, "approx", a.high, both + 8 * U)
        if step in ("sqrt", "rsqrt"):
            text = f"tl.sqrt({a.text})" if step == "sqrt" else f"tl.rsqrt({a.text} + 1.0)"
            return self.let(text, "float32", a.shape, "approx", max(a.high, 1.0), a.relative + U + FUNCTION_ERROR)
        if a.high > 4:
            return None
        high, grows = (2.72**a.high, a.high) if step == "exp" else (2.0**a.high, a.high)
        return self.let(f"tl.{step}({a.text})", "float32", a.shape, "approx", high,
                        a.relative * grows + FUNCTION_ERROR)

    def reduction(self):
        a = self.pick(lambda v: v.shape == self.shape and v.kind in ("int", "exact", "approx", "free"))
        if a is None:
            return None
        axis = self.rng.randrange(len(self.shape))
        count = self.shape[axis]
        function = self.rng.choice(["sum", "sum", "max", "min"])
        kind, high, relative, dtype = a.kind, a.high, a.relative, a.dtype
        if function == "sum":
            if a.kind == "free" or (a.kind == "exact" and a.high * count > EXACT[a.dtype]):
                return None
            high, relative = high * count, relative + 2 * count * U * (kind == "approx")
            if high > 64 and kind == "approx":
                return None
            if kind == "int" and WIDTH[dtype] < 32:
                dtype = "int32" if dtype in SIGNED else "uint32"
        else:
            if kind == "int" and WIDTH[dtype] < 32:
                dtype = "int32"
            if dtype in HALVES:
                dtype = "float32"
        shape, index = (), ""
        if len(self.shape) == 2:
            index = "[None, :]" if axis == 0 else "[:, None]"
            shape = tuple(1 if d == axis else e for d, e in enumerate(self.shape))
        return self.let(f"tl.{function}({a.text}, axis={axis}){index}", dtype, shape, kind, high,
                        relative if kind == "approx" else 0.0)

    STEPS = [("integer_arithmetic", 5), ("integer_division", 2), ("shift", 2), ("unary", 1), ("comparison", 1),
             ("logic", 1), ("select", 4), ("any_cast", 3), ("float_arithmetic", 5), ("approximate", 9),
             ("reduction", 2)]

    MOVES = [("scan", 5), ("gather", 4), ("flip", 2), ("join_and_split", 3), ("interleaved", 2), ("counted", 2), ("cut", 3)]

    def whole(self, *kinds):
        """A tile of the program's shape."""
        return self.pick(lambda v: v.shape == self.shape and v.kind in kinds)

    def scan(self):
        a = self.whole("int", "exact")
        if a is None:
            return None
        if self.rng.random() < 0.5:
            a = self.cut(a)
        axis, reverse = self.rng.randrange(len(self.shape)), self.rng.random() < 0.4
        high, dtype = a.high * self.shape[axis], a.dtype
        function = "cumprod" if a.kind == "int" and self.rng.random() < 0.3 else "cumsum"
        if a.kind == "exact" and high > EXACT[a.dtype]:
            return None
        if function == "cumsum" and dtype in INTEGERS and WIDTH[dtype] < 32:
            dtype = "int32" if dtype in SIGNED else "uint32"
        if dtype == "bfloat16":
            dtype = "float32"
        return self.let(f"tl.{function}({a.text}, {axis}, reverse={reverse})", dtype, self.shape, a.kind, high)

    def gather(self):
        """Some indices are outside, where 0 is."""
        a, index = self.whole("int", "exact", "free", "product"), self.whole("int")
        if a is None or index is None:
            return None
        axis = self.rng.randrange(len(self.shape))
        index = self.cast(index, self.rng.choice(["int32", "int64"]))
        spread = self.shape[axis] + self.rng.choice([0, 0, 1, 5])
        return self.let(f"tl.gather({a.text}, {index.text} % {spread}, {axis})", a.dtype, self.shape, a.kind, a.high)

    def flip(self):
        a = self.whole("int", "exact", "free", "product", "approx")
        if a is None:
            return None
        axis = self.rng.randrange(len(self.shape))
        return self.let(f"tl.flip({a.text}, {axis})", a.dtype, self.shape, a.kind, a.high, a.relative)

    def pair(self):
        a = self.whole("int", "exact", "free", "product")
        b = a and self.pick(lambda v: v.shape == self.shape and v.dtype == a.dtype and v.kind == a.kind)
        return a and (a, b, max(a.high, b.high))

    def join_and_split(self):
        """Both halves of what was joined, or of neighbours in a row of an even extent."""
        pair = self.pair()
        if pair is None:
            return None
        a, b, high = pair
        left, right = self.name(), self.name()
        self.line(f"{left}, {right} = tl.split(tl.join({a.text}, {b.text}))")
        for text in (left, right):
            self.pool.append(Value(text, a.dtype, self.shape, a.kind, high))
        return self.pool[-1]

    def interleaved(self):
        """Twice as many elements, of which one half stays."""
        pair = self.pair()
        if pair is None:
            return None
        a, b, high = pair
        half = self.name()
        wide = list(self.shape[:-1]) + [2, self.shape[-1]]
        function = self.rng.choice(["tl.interleave({}, {})", "tl.cat({}, {}, dim=%d)" % (len(self.shape) - 1)])
        order = list(range(len(self.shape) - 1)) + [len(self.shape), len(self.shape) - 1]
        text = f"tl.permute(tl.reshape({function.format(a.text, b.text)}, {wide}), {order})"
        self.line(f"{half}, {self.name()} = tl.split({text})")
        self.pool.append(Value(half, a.dtype, self.shape, a.kind, high))
        return self.pool[-1]

    def cut(self, a=None):
        """A tile in another order of its elements: cut into three dimensions, these permuted, and joined again."""
        a = a or self.whole("int", "exact", "free", "product")
        if a is None:
            return None
        count, extents = math.prod(self.shape), []
        for _ in range(2):
            divisors = [extent for extent in range(2, count) if count % extent == 0] or [1]
            extents.append(self.rng.choice(divisors))
            count //= extents[-1]
        order = self.rng.sample(range(3), 3)
        return self.let(f"tl.reshape(tl.permute(tl.reshape({a.text}, {[*extents, count]}), {order}), {list(self.shape)})",
                        a.dtype, self.shape, a.kind, a.high)

    def counted(self):
        """A histogram, spread back over the tile it was made of."""
        a = self.whole("int")
        if a is None or len(self.shape) != 1:
            return None
        bins, mask = self.shape[0], self.condition(self.shape)
        if mask.shape != self.shape:
            return None
        a = self.cast(a, "int32")
        return self.let(f"tl.histogram({a.text} % {bins}, {bins}, mask={mask.text})", "int32", self.shape, "int")

    # --- products, sorted rows, turned tiles: the form "held" ---

    HELD = [("product", 8), ("sorted_rows", 3), ("turned_tile", 4), ("prefetched", 4)]
    FACTORS = ["int8", "float16", "bfloat16", "float32"]

    def selection(self, dtype):
        """A square matrix that picks one column of a tile for each of its columns: its products are exact."""
        extent = self.shape[1]
        step, first = self.rng.choice([1, 3, 5, 7]), self.rng.randrange(extent)
        rows, columns = f"tl.arange(0, {extent})[:, None]", f"tl.arange(0, {extent})[None, :]"
        return f"({rows} == ({columns} * {step} + {first}) % {extent}).to(tl.{dtype})"

    def product(self):
        a = self.whole(self.rng.choice(["int", "exact"])) or self.whole("int", "exact")
        if a is None:
            return None
        a = self.cast(a, "int8" if a.kind == "int" else a.dtype)
        dtype = "int32" if a.kind == "int" else self.rng.choice(["float32", "float16"]) if a.dtype == "float16" else "float32"
        acc = self.pick(lambda v: v.kind == a.kind and v.dtype == dtype and v.shape == self.shape)
        high = a.high + (acc.high if acc else 0.0)
        if high > EXACT.get(dtype, high):
            acc, high = None, a.high
        options = (f", {acc.text}" if acc else "") + (f", out_dtype=tl.{dtype}" if dtype != "int32" else "")
        if a.dtype == "float32" and a.high > 2**11:  # more digits than tf32 keeps
            options += ", input_precision='ieee'"
        value = self.let(f"tl.dot({a.text}, {self.selection(a.dtype)}{options})", dtype, self.shape, a.kind, high)
        self.of_dots.add(value.text)
        return value

    def sorted_rows(self):
        a = self.whole("int", "exact")
        if a is None or self.shape[-1] & (self.shape[-1] - 1):
            return None
        return self.let(f"tl.sort({a.text})", a.dtype, self.shape, a.kind, a.high)

    def turned_tile(self):
        a = self.whole("int", "exact", "free", "product")
        rows, columns = self.shape
        return a and self.let(f"tl.trans(tl.reshape({a.text}, [{columns}, {rows}]))", a.dtype, self.shape, a.kind, a.high)

    def prefetched(self):
        """A round multiplies what the one before loaded, as people hide latency by hand."""
        if self.depth > 1:
            return None
        trips, dtype = self.rng.randint(0, 4), self.rng.choice(self.FACTORS)
        source = self.new_buffer(dtype, "any" if dtype == "int8" else "ints", self.count * 5)
        scalar = f"trips{len(self.program.scalars)}"
        self.program.scalars[scalar] = trips
        result = "int32" if dtype == "int8" else "float32"
        acc, index = self.name("acc"), self.name("i")
        self.line(f"{acc} = tl.zeros({list(self.shape)}, tl.{result})")
        outer = list(self.pool)
        held = self.load(source)
        self.line(f"for {index} in range({scalar}):")
        self.depth += 1
        self.line(f"{acc} = tl.dot({held.text}, {self.selection(dtype)}, {acc})")
        following = self.load(source, f"{self.address(source)} + ({index} + 1) * {self.count}")
        self.line(f"{held.text} = {following.text}")
        self.depth -= 1
        self.pool = outer
        kind, high = ("int", 0.0) if dtype == "int8" else ("exact", 64.0 * trips)
        self.of_dots.add(acc)
        self.pool.append(Value(acc, result, self.shape, kind, high))
        return self.pool[-1]

    def steps(self, count):
        names, weights = zip(*self.step_table)
        made = 0
        while made < count:
            made += getattr(self, self.rng.choices(names, weights)[0])() is not None

    # --- memory ---

    def fits(self, mask):
        return self.rng.choice([mask, mask, f"{mask} & ({self.offsets} % {self.rng.randint(2, 5)} != 1)"])

    def new_buffer(self, dtype, data, count):
        if self.overlapping:
            dtype = dtype if dtype in INTEGERS else "int32"
        buffer = Buffer(f"p{len(self.program.buffers)}", dtype, count, data)
        self.program.buffers.append(buffer)
        return buffer

    def load(self, buffer, address=None, mask=None):
        address, mask = address or self.address(buffer), mask or self.fits(self.mask)
        other = ""
        if buffer.data == "positive":
            other = ", other=1.0"
        elif self.rng.random() < 0.5:
            other = f", other={self.rng.randint(0, 9)}"
        kinds = {"ints": ("exact", 64.0), "any": ("free", 0.0), "positive": ("approx", 2.0)}
        kind, high = ("int", 0.0) if buffer.dtype in INTEGERS else kinds[buffer.data]
        return self.let(f"tl.load({address}, mask={mask}{other})", buffer.dtype, self.shape, kind, high)

    def address(self, buffer):
        return f"{buffer.name} + {self.offsets}"

    def store(self, value=None):
        value = value or self.pick(lambda v: True, self.shape) or self.pick(lambda v: True)
        if self.overlapping and value.dtype in FLOATS:
            value = self.cast(value, "int32")
        dtype = "int8" if value.kind == "bool" else value.dtype
        buffer = self.new_buffer(dtype, "zeros", self.count)
        buffer.relative = 2 * value.relative if value.kind == "approx" else 0.0
        text = value.text + (".to(tl.int8)" if value.kind == "bool" else "")
        self.line(f"tl.store({self.address(buffer)}, {text}{'' if value.shape else f' + {self.zero(value)}'}, "
                  f"mask={self.fits(self.mask)})")

    def zero(self, value):
        """Spreads a scalar over the tile, since a store does not."""
        dtype = "int8" if value.kind == "bool" else value.dtype
        return f"tl.zeros({list(self.shape)}, tl.{dtype})"

    def update_in_place(self):
        """Load, store to the same addresses, load again."""
        buffer = self.new_buffer(self.rng.choice(INTEGERS), "any", self.count)
        first = self.load(buffer, mask=self.mask)
        other = self.cast(self.integer(), buffer.dtype)
        self.line(f"tl.store({self.address(buffer)}, {first.text} {self.rng.choice('+-^')} {other.text}, "
                  f"mask={self.fits(self.mask)})")
        self.load(buffer, mask=self.mask)

    def shift_in_place(self):
        """M2: one program only, since programs are not ordered."""
        distance = self.rng.choice([1, 2, 3, 7, 16, 33])
        buffer = self.new_buffer(self.rng.choice(self.in_memory), "any", self.count + distance)
        mask = self.fits(self.mask)
        loaded = self.load(buffer, mask=mask)
        self.line(f"tl.store({self.address(buffer)} + {distance}, {loaded.text}, mask={mask})")
        self.load(buffer, mask=self.mask)

    def loop(self):
        """A carried tile, with loads that move and a number of trips known at run time."""
        trips = self.rng.randint(0, 4)
        scalar = f"trips{len(self.program.scalars)}"
        self.program.scalars[scalar] = trips
        dtype = self.rng.choice(self.in_memory)
        source = self.new_buffer(dtype, "any", self.count * 5)
        carried, moving, index = self.name("acc"), self.name("ptr"), self.name("i")
        walking = self.rng.random() < 0.5
        self.line(f"{carried} = tl.zeros({list(self.shape)}, tl.{dtype})")
        if walking:
            self.line(f"{moving} = {self.address(source)}")
        self.line(f"for {index} in range({scalar}):")
        self.depth += 1
        outer = list(self.pool)
        address = moving if walking else f"{self.address(source)} + {index} * {self.count}"
        self.store_numbers_of_trips(carried if dtype in INTEGERS else None, index)
        self.leave(index, ["continue", "break"])
        loaded = self.load(source, address)
        if dtype in INTEGERS:
            self.leave(index, ["continue", "break", "return"])
            self.steps(self.rng.randint(0, 3))
            loaded = self.cast(self.integer(), dtype)
        self.line(f"{carried} = {carried} {self.rng.choice('+-')} {loaded.text}")
        if walking:
            self.line(f"{moving} += {self.count}")
        self.depth -= 1
        self.pool = outer
        self.pool.append(Value(carried, dtype, self.shape, "int" if dtype in INTEGERS else "free"))

    def store_numbers_of_trips(self, carried, index):
        """Stores the numbers that a loop carries or counts as floats: their range is not that of the first trip."""
        if self.overlapping or self.later.random() < 0.6:
            return
        dtype = self.later.choice(FLOATS)
        forms = [f"{index} * {self.count} + {self.offsets}", f"{self.offsets} - {index} * {self.later.randint(1, 99)}", f"({self.offsets} + {index}) % 200",
                 carried or f"{self.offsets} + {index}"]
        buffer = self.new_buffer(dtype, "zeros", self.count * 5)
        self.line(f"tl.store({self.address(buffer)} + {index} * {self.count}, ({self.later.choice(forms)}).to(tl.{dtype}), mask={self.fits(self.mask)})")

    def leave(self, index, ways):
        """An exit that some programs and trips take, within one `if` or two, in form "exits" only."""
        if not self.leaving or self.rng.random() < 0.3:
            return
        depth = self.depth
        if self.rng.random() < 0.4:
            self.line(f"if {self.rng.choice(['pid % 2 == 0', 'n > 50', 'pid < 1'])}:")
            self.depth += 1
        test = self.rng.choice(["{0} == 1", "{0} > 1", "({0} + pid) % 3 == 1", "0 < {0} < 3"])
        self.line(f"if {test.format(index)}:")
        self.line(f"    {self.rng.choice(ways)}")
        self.depth = depth

    def nest(self):
        """Two loops, one within the other, which some programs and trips leave; what they carry and their variables are
        used behind them."""
        rng, outer = self.rng, list(self.pool)
        acc, count, i, j = self.name("acc"), self.name("count"), self.name("i"), self.name("j")
        self.line(f"{acc} = {self.cast(self.spread(self.integer()), 'int32').text}")
        self.line(f"{count}, {i}, {j} = 0, {rng.randint(0, 9)}, {rng.randint(0, 9)}")
        depth = self.depth
        self.enter(i, "0" if rng.random() < 0.7 else "pid")
        self.leave(i, ["continue", "break"])
        self.changes(acc, count, f"{i} * {rng.randint(1, 9)}")
        inner = self.depth
        self.enter(j, rng.choice(["0", "1", i]), may_unroll=True)
        for _ in range(rng.randint(1, 2)):
            self.leave(rng.choice([j, f"({i} + {j})", count]), ["continue", "break", "break", "return"])
            self.changes(acc, count, f"{j} + {i}")
        if self.helper and rng.random() < 0.6:
            self.line(f"{count} += {self.helper}({count}, {j})")
        self.depth = inner
        self.leave(rng.choice([i, j, count]), ["continue", "break", "return"])
        if len(self.shape) == 1 and rng.random() < 0.3:
            self.line(f"if tl.max({acc}, axis=0) > 1000:")
            self.line(f"    {rng.choice(['break', 'continue', 'return'])}")
        self.changes(acc, count, str(rng.randint(1, 9)))
        self.depth = depth
        self.pool = outer
        self.let(f"{acc} + ({count} * 64 + {i} * 8 + {j})", "int32", self.shape, "int")

    def enter(self, index, start, may_unroll=False):
        """The head of a loop of one of four kinds."""
        trips = f"trips{len(self.program.scalars)}"
        self.program.scalars[trips] = self.rng.randint(0, 5)
        kind = self.rng.choice(["for", "for", "down", "while", "endless"] + ["static"] * 2 * may_unroll)
        if kind in ("while", "endless"):
            self.line(f"{index} = {start} - 1")
        head = {"for": f"for {index} in range({start}, {trips}{self.rng.choice(['', ', 2'])}):",
                "down": f"for {index} in range({trips}, {start}, -1):",
                "static": f"for {index} in tl.static_range({self.rng.randint(1, 4)}):",
                "while": f"while {index} + 1 < {trips}:", "endless": "while True:"}
        self.line(head[kind])
        self.depth += 1
        if kind in ("while", "endless"):
            self.line(f"{index} += 1")
        if kind == "endless":
            self.line(f"if {index} >= {trips}:")
            self.line("    break")

    def changes(self, acc, count, text):
        """A trip changes a tile and a scalar; a load sometimes, or one side of a branch only."""
        depth = self.depth
        if self.rng.random() < 0.3:
            self.line(f"if {self.rng.choice(['pid % 2 == 0', 'n > 50', count + ' % 2 == 1'])}:")
            self.depth += 1
        self.line(f"{acc} = {acc} {self.rng.choice('+-^')} ({text})")
        if self.rng.random() < 0.4:
            source = self.new_buffer("int32", "any", self.count)
            self.line(f"{acc} = {acc} + tl.load({self.address(source)}, mask={self.fits(self.mask)}, other={count})")
        self.line(f"{count} += 1")
        self.depth = depth

    def make_helper(self):
        """A function that leaves its loop by `return`."""
        self.helper = "helper"
        test, step = self.rng.choice(["i * i > x", "x % 3 == i", "x - i < 2"]), self.rng.randint(1, 3)
        other = self.rng.choice([["if x == i + 1:", "    continue"], ["if x + i == 9:", "    break"], []])
        lines = ["def helper(x, most):", f"    for i in range(0, most, {step}):", f"        if {test}:", "            return i"]
        lines += ["        " + line for line in other] + ["        x += 1", "    return x % 7"]
        self.helpers = ["@triton.jit", *lines, "", ""]

    def branch(self):
        """An `if` that is decided at run time, by a scalar argument or the program's number."""
        value = self.pick(lambda v: v.kind == "int", self.shape)
        if value is None:
            return
        name = self.name()
        self.line(f"{name} = {value.text}")
        test = self.rng.choice(["pid % 2 == 0", "n > 50", "pid < 1"])
        outer = list(self.pool)
        self.line(f"if {test}:")
        self.depth += 1
        self.steps(self.rng.randint(1, 3))
        self.line(f"{name} = {self.cast(self.spread(self.integer()), value.dtype).text}")
        self.leave("pid", ["return"])
        self.depth -= 1
        self.pool = list(outer)
        if self.rng.random() < 0.5:
            self.line("else:")
            self.depth += 1
            self.steps(self.rng.randint(1, 2))
            self.line(f"{name} = {self.cast(self.spread(self.integer()), value.dtype).text}")
            self.depth -= 1
            self.pool = list(outer)
        self.pool.append(Value(name, value.dtype, self.shape, "int"))

    def spread(self, value):
        if value.shape == self.shape:
            return value
        return self.let(f"{value.text} + {self.zero(value)}", value.dtype, self.shape, "int")

    # --- addresses that are chosen when the program runs ---

    def turned(self):
        """The program's own elements, from another one on: offsets and their mask."""
        offsets, mask = self.name("turned"), self.name("inside")
        block = self.shape[0]
        self.line(f"{offsets} = pid * {block} + (tl.arange(0, {block}) + {self.rng.randrange(block)}) % {block}")
        self.line(f"{mask} = ({offsets} < n) & mask")
        return offsets, mask

    def pointers(self, count):
        dtype = self.rng.choice(INTEGERS)
        return dtype, [self.new_buffer(dtype, "any", self.count).name for _ in range(count)]

    def changed(self, text, dtype):
        """Returns what is stored: the loaded value and another one."""
        other = self.cast(self.integer(), dtype)
        return f"{text} {self.rng.choice('+-^')} {other.text}"

    def exchange(self):
        """A loop stores through one pointer, loads through another, and passes them on."""
        dtype, arrays = self.pointers(self.rng.choice([2, 2, 3]))
        offsets, inside = self.turned()
        form = self.rng.choice(["scalars", "tiles", "integers"])
        names = [self.name("ptr") for _ in arrays]
        start = {"scalars": "{}", "tiles": "{} + " + self.offsets, "integers": "{}.to(tl.int64)"}[form]
        self.line(f"{', '.join(names)} = {', '.join(start.format(array) for array in arrays)}")
        trips, index = f"trips{len(self.program.scalars)}", self.name("i")
        self.program.scalars[trips] = self.rng.randint(0, 4)
        is_while = self.rng.random() < 0.3
        if is_while:
            self.line(f"{index} = 0")
        self.line(f"while {index} < {trips}:" if is_while else f"for {index} in range({trips}):")
        self.depth += 1
        outer = list(self.pool)
        source, target = names[0], names[1]
        if form == "integers":
            source, target = self.name("ptr"), self.name("ptr")
            for name, integer in ((source, names[0]), (target, names[1])):
                self.line(f"{name} = {integer}.to(tl.pointer_type(tl.{dtype}))")
        # A carried tile moves to the neighbours by the difference of two tiles of offsets.
        read = f"{source} + ({offsets} - {self.offsets})" if form == "tiles" else f"{source} + {offsets}"
        write = target if form == "tiles" else f"{target} + {self.offsets}"
        value = self.let(f"tl.load({read}, mask={inside})", dtype, self.shape, "int")
        self.steps(self.rng.randint(0, 2))
        self.line(f"tl.store({write}, {self.changed(value.text, dtype)}, mask={self.fits(self.mask)})")
        passed = names[1:] + names[:1]
        how = self.rng.choice(["always", "always", "branch", "inner"])
        if how == "branch":
            self.line(f"if {index} % 2 == {self.rng.randrange(2)}:")
        elif how == "inner":
            self.line(f"for {self.name('i')} in range({index} % 3):")
        self.line(("    " if how != "always" else "") + f"{', '.join(names)} = {', '.join(passed)}")
        if is_while:
            self.line(f"{index} += 1")
        self.depth -= 1
        self.pool = outer

    def picked(self):
        """A branch or a select of scalars decides through which of two pointers to load and to store."""
        dtype, (a, b) = self.pointers(2)
        offsets, inside = self.turned()
        source, target = self.name("ptr"), self.name("ptr")
        test = self.rng.choice(["pid % 2 == 0", "n > 50", "pid < 1"])
        if self.rng.random() < 0.5:
            self.line(f"{source}, {target} = tl.where({test}, {a}, {b}), tl.where({test}, {b}, {a})")
        else:
            for line in (f"if {test}:", f"    {source}, {target} = {a}, {b}", "else:", f"    {source}, {target} = {b}, {a}"):
                self.line(line)
        value = self.let(f"tl.load({source} + {offsets}, mask={inside})", dtype, self.shape, "int")
        for pointer in self.rng.sample([source, target, a, b], 2):
            self.line(f"tl.store({pointer} + {self.offsets}, {self.changed(value.text, dtype)}, mask={self.fits(self.mask)})")
            other = self.rng.choice([source, target, a, b])
            value = self.let(f"tl.load({other} + {offsets}, mask={inside})", dtype, self.shape, "int")

    def spread_over_two(self):
        """Each element of one access goes to either of two arrays."""
        dtype, (a, b) = self.pointers(2)
        offsets, inside = self.turned()
        condition = self.condition(self.shape)
        if condition.shape != self.shape:
            return
        value = self.let(f"tl.load(tl.where({condition.text}, {a} + {offsets}, {b} + {offsets}), mask={inside})", dtype,
                         self.shape, "int")
        self.line(f"tl.store(tl.where({condition.text}, {a} + {self.offsets}, {b} + {self.offsets}), "
                  f"{self.changed(value.text, dtype)}, mask={self.fits(self.mask)})")
        self.let(f"tl.load({self.rng.choice([a, b])} + {offsets}, mask={inside})", dtype, self.shape, "int")

    # --- whole programs ---

    def begin_1d(self):
        block = self.rng.choice([1, 2, 5, 16, 31, 32, 33, 48, 64, 80, 100, 128, 200, 257, 512])
        programs = 1 if self.overlapping else self.rng.randint(1, 4)
        self.shape, self.mask, self.offsets = (block,), "mask", "offsets"
        n = max(0, programs * block - self.rng.randrange(block + 1)) if self.rng.random() < 0.8 else programs * block
        self.program.grid, self.count = (programs,), max(n, 1)
        self.program.scalars["n"] = n
        self.line("pid = tl.program_id(0)")
        self.line(f"offsets = pid * {block} + tl.arange(0, {block})")
        self.line("mask = offsets < n")
        self.pool.append(Value("offsets", "int32", self.shape))
        self.pool.append(Value("pid", "int32", ()))
        self.pool.append(Value("mask", "bool", self.shape, "bool"))

    def begin_2d(self):
        rows, columns = self.rng.choice([1, 3, 4, 7, 8, 16]), self.rng.choice([1, 2, 5, 8, 16, 24, 33, 64])
        grid = (1, 1) if self.overlapping else (self.rng.randint(1, 2), self.rng.randint(1, 2))
        self.shape, self.mask, self.offsets = (rows, columns), "mask", "offsets"
        m = max(1, rows * grid[0] - self.rng.randrange(rows))
        n = max(1, columns * grid[1] - self.rng.randrange(columns))
        stride = n + self.rng.choice([0, 0, 1, 5])
        self.program.grid, self.count = grid, m * stride
        self.program.scalars.update(m=m, n=n, stride=stride)
        self.line("pid = tl.program_id(0)")
        self.line(f"r = pid * {rows} + tl.arange(0, {rows})[:, None]")
        self.line(f"c = tl.program_id(1) * {columns} + tl.arange(0, {columns})[None, :]")
        self.line("mask = (r < m) & (c < n)")
        self.line("offsets = r * stride + c")
        self.pool.append(Value("r", "int32", (rows, 1)))
        self.pool.append(Value("c", "int32", (1, columns)))
        self.pool.append(Value("offsets", "int32", self.shape))
        self.pool.append(Value("mask", "bool", self.shape, "bool"))

    def strided_load(self):
        """Every other element, backwards, or through computed indices."""
        form = self.rng.choice(["offsets * 3", "(n - 1 - offsets)", "(offsets * 7 + 3) % n", "offsets // 2"])
        buffer = self.new_buffer(self.rng.choice(self.in_memory), "any", self.count * 3 + 8)
        self.load(buffer, f"{buffer.name} + {form}", mask="mask")

    def place_across(self):
        """Offsets within one piece of memory: near each other, often equal."""
        offsets = [0]
        for buffer in self.program.buffers:
            size = WIDTH[buffer.dtype] // 8
            step = self.rng.choice([0, 0, 1, 1, 2, 3, 8, 16, 50]) * size
            buffer.offset = (self.rng.choice(offsets) + step) // size * size
            offsets.append(buffer.offset)

    def generate(self):
        two = self.held or (self.rng.random() < 0.4 and not self.choosing)
        self.begin_2d() if two else self.begin_1d()
        self.load(self.new_buffer(self.rng.choice(INTEGERS), "any", self.count))
        if self.leaving and self.rng.random() < 0.5:
            self.make_helper()
        if self.held:
            self.load(self.new_buffer("float16", "ints", self.count))
        for _ in range(self.rng.randint(1, 3)):
            dtype = self.rng.choice(INTEGERS if self.overlapping else INTEGERS + FLOATS * 2)
            data = self.rng.choice(["ints", "any", "positive", "positive", "positive"] if dtype == "float32" else ["ints", "any"])
            self.load(self.new_buffer(dtype, data, self.count))
        for _ in range(self.rng.randint(1, 3)):
            self.steps(self.rng.randint(2, 6))
            if self.choosing:
                getattr(self, self.rng.choice(["exchange", "exchange", "picked", "spread_over_two"]))()
            extra = self.rng.random()
            if self.leaving:
                extra = self.rng.choice([0.1, 0.6, 1.0])
                if extra == 1.0:
                    self.nest()
            if extra < 0.2:
                self.loop()
            elif extra < 0.4:
                self.update_in_place()
            elif extra < 0.5 and self.program.grid == (1,):
                self.shift_in_place()
            elif extra < 0.65:
                self.branch()
            elif extra < 0.8 and not two:
                self.strided_load()
            self.store()
        self.store()
        if self.overlapping:
            self.place_across()
        parameters = [b.name for b in self.program.buffers] + list(self.program.scalars)
        header = ["import tegula as triton", "import tegula.language as tl", "", "",
                  *self.helpers, "@triton.jit", f"def kernel({', '.join(parameters)}):"]
        self.program.source = "\n".join(header + self.lines) + "\n"
        return self.program


def generate(seed, form=""):
    """`form` "overlapping", "moving", "held", "pointers" or "exits", see above."""
    return Generator(seed, form).generate()


if __name__ == "__main__":
    program = generate(int(sys.argv[1]), *sys.argv[2:])
    print(program.source)
    print("#", program.grid, program.scalars)
    for buffer in program.buffers:
        print("#", buffer)
