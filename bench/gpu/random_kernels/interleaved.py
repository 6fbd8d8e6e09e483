"""Kernels of tiles whose elements take turns in memory: gates beside values, pairs that are turned, complex numbers, points of several
numbers, halves that are taken apart or put together."""
from .kernel import BYTES, LANES

BYTES_IN_ALL = 1 << 26


def write(draft):
    return draft.weighted({write_gated: 3, write_turned: 3, write_complex: 2, write_points: 2, write_halves: 2})(draft)


def choose_tile(draft):
    """(rows, pairs of a row, warps)"""
    return draft.until(lambda rows, pairs, warps: LANES * warps <= 2 * rows * pairs and rows * pairs <= 1024 * warps,
                       lambda: (draft.one_of(1, 1, 1, 2, 4, 16), draft.one_of(16, 32, 64, 128, 256, 512, 1024), draft.one_of(1, 2, 4, 4, 8)))


class Pairs:
    """The places of a program's pairs in rows of them, in one spelling; `is_tile`: of several rows."""

    def __init__(self, draft, dtype):
        self.draft, self.dtype = draft, dtype
        self.m, self.n, self.warps = choose_tile(draft)
        self.pairs = self.n * draft.one_of(1, 1, 4) - draft.one_of(0, 0, 0, 1, 8)
        self.blocks = -(-self.pairs // self.n)
        self.rows = self.m * draft.size(max(64, BYTES_IN_ALL // BYTES[dtype] // self.pairs // 2 // self.m), 2)
        self.is_tile = self.m > 1 or draft.chance(0.3)
        first = f"tl.program_id(1) * {self.n} + " if self.blocks > 1 else ""
        draft.add(f"i = {first}tl.arange(0, {self.n})",
                  f"row = tl.program_id(0) * {self.m} + tl.arange(0, {self.m})" if self.is_tile else "row = tl.program_id(0)")
        if draft.chance(0.3):
            draft.add("i = i.to(tl.int64)")
        self.is_whole = self.pairs % self.n == 0
        self.down, self.along = ("row[:, None]", "i[None, :]") if self.is_tile else ("row", "i")
        self.odd_first = draft.chance(0.3)
        self.twice = draft.one_of("2 * {}", "{} * 2").format(self.along)
        distance = draft.one_of(f"{2 * self.pairs}", "2 * P", "S")  # of rows
        self.row = f"{self.down} * {distance} + "
        self.sizes = {"P": self.pairs, **({"S": 2 * self.pairs} if distance == "S" else {})}

    @property
    def grid(self):
        return self.rows // self.m, self.blocks

    @property
    def mask(self):
        return "" if self.is_whole else f", mask={self.along} < P"

    def load(self, names, tensor):
        """Both elements of each pair, as floats, by their names."""
        lines = [f"{name} = tl.load({tensor} + {self.row}{self.twice}{' + 1' if k else ''}{self.mask}).to(tl.float32)" for k, name in enumerate(names)]
        self.draft.add(*(reversed(lines) if self.odd_first else lines))

    def store(self, values, tensor):
        lines = [f"tl.store({tensor} + {self.row}{self.twice}{' + 1' if k else ''}, ({value}).to({tensor}.dtype.element_ty){self.mask})"
                 for k, value in enumerate(values)]
        self.draft.add(*(reversed(lines) if self.odd_first else lines))

    def single(self, tensor):
        """The address of one element for each pair."""
        return f"{tensor} + {self.down} * P + {self.along}"

    def kernel(self, what):
        spelling = " ".join([self.twice, "tile" if self.is_tile else "", "odd first" if self.odd_first else ""])
        return self.draft.kernel(f"{what} {self.m}x{self.n} {self.dtype} {self.rows}x{self.pairs} pairs {spelling}", self.grid, self.warps, 2,
                                 **self.sizes)


def any_float(draft):
    return draft.one_of("f32", "bf16", "bf16", "f16")


def write_gated(draft):
    pairs = Pairs(draft, any_float(draft))
    draft.tensor("x", (pairs.rows, 2 * pairs.pairs), pairs.dtype)
    draft.result("o", (pairs.rows, pairs.pairs), draft.one_of(pairs.dtype, "f32"))
    pairs.load(("gate", "up"), "x")
    if draft.chance(0.5):
        draft.add("gate = tl.minimum(gate, 7.0)", "up = tl.minimum(tl.maximum(up, -7.0), 7.0) + 1.0")
    draft.add(f"tl.store({pairs.single('o')}, (gate * tl.sigmoid(gate) * up).to(o.dtype.element_ty){pairs.mask})")
    return pairs.kernel("gated")


def write_turned(draft):
    """By angles of each row."""
    pairs = Pairs(draft, any_float(draft))
    draft.tensor("cosines", (pairs.rows, pairs.pairs), "f32")
    draft.tensor("sines", (pairs.rows, pairs.pairs), "f32")
    draft.tensor("x", (pairs.rows, 2 * pairs.pairs), pairs.dtype)
    draft.result("o", (pairs.rows, 2 * pairs.pairs), pairs.dtype)
    pairs.load(("a", "b"), "x")
    draft.add(*(f"{name[:3]} = tl.load({pairs.single(name)}{pairs.mask})" for name in ("cosines", "sines")))
    pairs.store(("a * cos - b * sin", "a * sin + b * cos"), "o")
    return pairs.kernel("turned")


def write_complex(draft):
    pairs = Pairs(draft, "f32")
    for name in ("x", "y"):
        draft.tensor(name, (pairs.rows, 2 * pairs.pairs), "f32")
    draft.result("o", (pairs.rows, 2 * pairs.pairs), "f32")
    pairs.load(("a", "b"), "x")
    pairs.load(("c", "d"), "y")
    pairs.store(("a * c - b * d", "a * d + b * c"), "o")
    return pairs.kernel("complex product")


def write_halves(draft):
    """Takes rows apart, or puts them together."""
    pairs = Pairs(draft, draft.one_of("f32", "bf16", "i8", "i32"))
    whole, half = (pairs.rows, 2 * pairs.pairs), (pairs.rows, pairs.pairs)
    is_apart = draft.chance(0.5)
    if is_apart:
        draft.tensor("x", whole, pairs.dtype)
        draft.result("first", half, pairs.dtype)
        draft.result("second", half, pairs.dtype)
        pairs.load(("a", "b"), "x")
        draft.add(*(f"tl.store({pairs.single(name)}, {value}.to({name}.dtype.element_ty){pairs.mask})"
                    for name, value in (("first", "a"), ("second", "b"))))
    else:
        draft.tensor("x", half, pairs.dtype)
        draft.tensor("y", half, pairs.dtype)
        draft.result("o", whole, pairs.dtype)
        draft.add(*(f"{value} = tl.load({pairs.single(name)}{pairs.mask}).to(tl.float32)" for name, value in (("x", "a"), ("y", "b"))))
        pairs.store(("a", "b"), "o")
    return pairs.kernel("taken apart" if is_apart else "put together")


def write_points(draft):
    """Distances of points from one of each program."""
    size, block, warps = draft.one_of(2, 3, 4, 4), draft.one_of(128, 256, 1024), draft.one_of(1, 4, 4, 8)
    if block < LANES * warps // 2:
        warps = 1
    programs = draft.size(BYTES_IN_ALL // 4 // size // block, 3)
    count = programs * block - draft.one_of(0, 0, 5)
    draft.tensor("points", (count, size), "f32")
    draft.tensor("centers", (programs, size), "f32")
    draft.result("o", (count,), "f32")
    draft.add(f"i = tl.program_id(0) * {block} + tl.arange(0, {block})", "inside = i < N", f"total = tl.zeros(({block},), tl.float32)")
    lines = [f"apart = tl.load(points + i * {size} + {{0}}, inside, 0.0) - tl.load(centers + tl.program_id(0) * {size} + {{0}})",
             "total += apart * apart"]
    is_loop = draft.chance(0.5)
    with draft.block(f"for k in tl.static_range({size}):" if is_loop else "if True:"):
        for k in ["k"] if is_loop else range(size):
            draft.add(*(line.format(k) for line in lines))
    draft.add("tl.store(o + i, tl.sqrt(total), inside)")
    return draft.kernel(f"points of {size} by {block} {'static_range' if is_loop else ''} {count}", (programs,), warps, 2, N=count)
