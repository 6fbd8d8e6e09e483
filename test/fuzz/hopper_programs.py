"""Random kernels of the shapes that people write for Hopper: seed -> source text, arguments, launch options, and what must come out.

Products and attention in tiles that are large enough for `wgmma`, for copies of boxes and for several groups of warps.
What varies is how a tile is reached (walking pointers, offsets, block pointers, tensor descriptors, pages that a table names), its order
and bounds, the loop (bounds from memory, two in a row, nested, `while`), what is masked, chosen and branched on in a trip, and whether
memory is shared between arguments.

As in dot_programs, values are small integers and all sums exact; `expected` runs the program's text as plain Python. What a kernel must
not read is NaN.

`python3 test/fuzz/hopper_programs.py SEED` prints the program of a seed.
"""
import random
import sys
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

import dot_programs
from dot_programs import Tile, numpy_type, wide

# BM, BN, D, warps, stages of attention; the first ones have two groups of warps or more.
ATTENTION = [(128, 128, 128, 8, 2), (128, 64, 128, 8, 3), (128, 128, 64, 8, 2), (128, 64, 64, 8, 3), (128, 64, 64, 8, 4), (64, 64, 128, 4, 3),
             (64, 128, 64, 4, 2), (64, 64, 64, 4, 1), (64, 32, 64, 4, 3), (64, 64, 32, 4, 5), (32, 32, 32, 2, 2), (16, 16, 16, 1, 2), (64, 16, 128, 4, 3),
             (128, 32, 64, 8, 2), (128, 64, 32, 4, 3), (64, 64, 256, 8, 2), (16, 64, 64, 4, 2), (128, 16, 16, 8, 4)]
# BM, BN, BK, warps, stages of products; the first ones come in boxes.
PRODUCTS = [(64, 256, 64, 4, 3), (64, 256, 32, 4, 4), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3), (64, 256, 64, 4, 2),
            (64, 256, 64, 4, 5), (64, 128, 64, 4, 3), (128, 128, 32, 4, 3), (64, 64, 64, 4, 3), (128, 64, 32, 8, 4), (64, 64, 32, 4, 1), (32, 64, 64, 2, 3),
            (16, 32, 32, 1, 2), (64, 32, 128, 4, 3), (16, 128, 64, 4, 3), (256, 64, 32, 8, 2)]


@dataclass
class Buffer:
    name: str
    dtype: str
    count: int
    values: np.ndarray = None  # None: what the kernel writes
    exact: float = 2**24


@dataclass
class Program:
    seed: int
    source: str = ""
    buffers: list = field(default_factory=list)
    scalars: dict = field(default_factory=dict)
    descriptors: list = field(default_factory=list)  # (name, buffer, shape, strides, block)
    same: dict = field(default_factory=dict)  # of two arguments that are one memory: number -> number
    grid: tuple = (1,)
    options: dict = field(default_factory=dict)

    def memory(self):
        arrays = []
        for number, buffer in enumerate(self.buffers):
            if number in self.same:
                arrays.append(arrays[self.same[number]])
            elif buffer.values is None:
                arrays.append(np.zeros(buffer.count, numpy_type(buffer.dtype)))
            else:
                arrays.append(buffer.values.copy())
        return arrays


def product_of(extents):
    return int(np.prod(extents))


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(f"hopper {seed}")
        self.numbers = np.random.default_rng(seed)
        self.program = Program(seed)
        self.lines, self.depth, self.counter = [], 1, 0
        self.is_plain = self.rng.random() < 0.6  # rows that boxes can be copied of, and few features at a time
        self.choices = random.Random(f"notes {seed}")  # of their own, so that a program with notes is another one's with them added
        self.clamps = random.Random(f"clamps {seed}")  # and so are spellings of rows that wrap around

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, share):
        return self.rng.random() < share

    def feature(self, share):
        return self.rng.random() < share * (0.4 if self.is_plain else 1)

    def let(self, prefix, text):
        name = self.name(prefix)
        self.line(f"{name} = {text}")
        return name

    def buffer(self, dtype, count, values=None):
        made = Buffer(f"mem{len(self.program.buffers)}", dtype, count, None if values is None else values.astype(numpy_type(dtype)))
        self.program.buffers.append(made)
        return made

    def scalar(self, value):
        name = f"arg{len(self.program.scalars)}"
        self.program.scalars[name] = value
        return name

    def table(self, values):
        """A buffer of numbers of 32 or 64 bits."""
        return self.buffer(self.rng.choice(["int32", "int32", "int64"]), len(values), np.array(values))

    # --- matrices ---

    def matrix(self, dtype, rows, columns, high, order=None, batch=1):
        """(buffer, (stride of rows, of columns), stride of the batch), with NaN between rows of floats."""
        order = order if order is not None else self.rng.choice([0, 0, 0, 0 if self.is_plain else 1])
        slow, fast = (rows, columns) if order == 0 else (columns, rows)
        stride = -(-fast // 16) * 16 + self.rng.choice([0, 0, 16, 64]) if self.is_plain else fast + self.rng.choice([0, 0, 8, 16, 3, 1])
        each = slow * stride + (0 if self.is_plain else self.rng.choice([0, 0, 16, 8, 5]))
        values = self.numbers.integers(-high, high + 1, each * batch).astype(np.float64)
        if not dtype.startswith("int"):
            inside = np.zeros((batch, each), bool)
            for row in range(slow):
                inside[:, row * stride:row * stride + fast] = True
            values[~inside.reshape(-1)] = np.nan
        made = self.buffer(dtype, each * batch, values)
        return made, ((stride, 1) if order == 0 else (1, stride)), each

    def clamped(self, index, end):
        """Indices that stay below an end."""
        return self.clamps.choice([
            f"({index}) % {end}", f"({index}) % {end}", f"tl.minimum({index}, {end} - 1)", f"tl.where({index} < {end}, {index}, 0)",
            f"tl.where({index} >= {end}, {end} - 1, {index})", f"tl.maximum(tl.minimum({index} - {self.clamps.choice([1, 8, 16])}, {end} - 1), 0)",
            f"tl.where(({index} < {end}) & ({index} >= 8), {index}, {end} // 2)"])

    def stride_text(self, number):
        return "1" if number == 1 and self.chance(0.9) else (self.scalar(number) if self.chance(0.85) else str(number))

    def source(self, dtype, extent, block, along, high, trips_end, head=None, pages=0, shift="0", order=None):
        """A matrix of `extent` rows and columns whose blocks of size `block` the loop takes along an axis; returns (load, walk):
        load(at) is an expression of the tile that begins at the element `at` of that axis, and walk() what to do behind it.

        `extent[along]` may be less than the loop reaches: loads are masked then. `shift`: of the other axis, where its tile begins."""
        memory = dtype
        if dtype in ("float16", "bfloat16") and self.feature(0.1):
            memory = self.rng.choice(["int8", "float32"] if high < 100 else ["float32"])
        heads, head_text = head if head else (1, None)
        buffer, strides, each = self.matrix(memory, *extent, high, order, heads)
        other = 1 - along
        base = buffer.name
        if head_text:
            base = self.let("base", f"{buffer.name} + {head_text} * {self.scalar(each)}")
        masks_along, masks_other = trips_end > extent[along], not isinstance(extent[other], int) or shift != "0" or extent[other] < block[other]
        style = self.rng.choice(["walk", "walk", "offset", "offset", "offset", "block", "device", "host"])
        cast = f".to(tl.{dtype})" if memory != dtype else ""
        sizes = dict(float16=2, bfloat16=2, float32=4, int8=1)[memory]
        if style in ("device", "host"):
            inner = strides.index(1)
            outer_bytes = strides[1 - inner] * sizes
            if outer_bytes % 16 or (heads > 1 and each * sizes % 16) or block[inner] * sizes < 16 or (style == "host" and head):
                style = "offset"
        if pages:
            style = "offset"
        shape = [self.scalar(extent[0]) if self.chance(0.7) else str(extent[0]), self.scalar(extent[1]) if self.chance(0.7) else str(extent[1])]
        texts = [self.stride_text(strides[0]), self.stride_text(strides[1])]

        def flip(x):
            return self.rng.choice(["tl.trans({})", "({}).T", "tl.permute({}, (1, 0))"]).format(x)

        if style in ("device", "host"):
            flipped = strides[0] == 1
            order = (1, 0) if flipped else (0, 1)
            d_shape, d_block = [shape[i] for i in order], [block[i] for i in order]
            d_stride = texts[order[0]]
            if style == "device":
                descriptor = self.let("desc", f"tl.make_tensor_descriptor({base}, [{d_shape[0]}, {d_shape[1]}], [{d_stride}, 1], {d_block})")
            else:
                descriptor = f"host{len(self.program.descriptors)}"
                self.program.descriptors.append((descriptor, len(self.program.buffers) - 1, [extent[i] for i in order],
                                                 [strides[order[0]], 1], d_block))

            def load(at):
                place = [shift, shift]
                place[along] = at
                text = f"{descriptor}.load([{place[order[0]]}, {place[order[1]]}])" + cast
                return flip(text) if flipped else text
            return load, lambda step: None
        flipped = self.chance(0.3)
        if style == "block":
            pointer = self.name("bp")
            order = (1, 0) if flipped else (0, 1)
            begin = [shift, shift]
            begin[along] = "{at}"
            checks = tuple(number for number, axis in enumerate(order) if (masks_along if axis == along else masks_other) or self.chance(0.2))
            options = ""
            if checks:
                text = f"({', '.join(map(str, checks))}{',' if len(checks) == 1 else ''})"
                options = f", boundary_check={text}" + (', padding_option="zero"')
            lie = tuple(1 - order.index(strides.index(1)) if axis == 0 else order.index(strides.index(1)) for axis in (0, 1))

            def make(at):
                offsets = [begin[i].format(at=at) for i in order]
                return (f"tl.make_block_ptr({base}, ({shape[order[0]]}, {shape[order[1]]}), ({texts[order[0]]}, {texts[order[1]]}), "
                        f"({offsets[0]}, {offsets[1]}), ({block[order[0]]}, {block[order[1]]}), ({1 - lie[0]}, {1 - lie[1]}))")
            moves = self.chance(0.7) and self.walkable
            if moves:
                self.line(f"{pointer} = {make(self.first)}")

            def load(at):
                if not moves:
                    text = f"tl.load({make(at)}{options}){cast}"
                else:
                    text = f"tl.load({pointer}{options}){cast}"
                return flip(text) if flipped else text

            def walk(step):
                if moves:
                    by = ["0", "0"]
                    by[order.index(along)] = step
                    self.line(f"{pointer} = tl.advance({pointer}, ({by[0]}, {by[1]}))")
            return load, walk
        views = ("[None, :]", "[:, None]") if flipped else ("[:, None]", "[None, :]")
        index = [self.let("i", f"tl.arange(0, {block[0]})"), self.let("i", f"tl.arange(0, {block[1]})")]
        if shift != "0":
            text = f"{shift} + {index[other]}"
            wraps = masks_other and self.chance(0.4)
            if wraps:
                text = self.clamped(text, shape[other])
                masks_other = False
            index[other] = self.let("i", text)
        walks = style == "walk" and self.walkable and not pages
        pointers = self.name("ptr")

        def place(at, ahead=False):
            one = index[along] + views[along]
            if pages:
                table, size = pages
                moved = f"(tl.load({table} + ({at}) // {size}) * {size} + {one})"
            elif ahead or at is None:
                moved = one if at is None else f"({at} + {one})"
            else:
                moved = self.rng.choice([f"({at} + {one})", f"({at} + {index[along]}){views[along]}", f"({one} + {at})"])
            terms = [f"{moved} * {texts[along]}", f"{index[other]}{views[other]} * {texts[other]}"]
            self.rng.shuffle(terms)
            return " + ".join(terms)
        if walks:
            self.line(f"{pointers} = {base} + ({place(self.first, True)})")
        filler = self.rng.choice([", other=0.0", ", other=0.0", ", other=0.0", ", other=0.0" if self.is_plain else f", other={self.rng.randint(1, 2)}"]) if masks_along or masks_other else ""
        if memory.startswith("int"):
            filler = filler.replace("0.0", "0")
        modifier = self.rng.choice([""] * 8 + [', eviction_policy="evict_first"', ', cache_modifier=".cg"', ', eviction_policy="evict_last"'])

        def load(at):
            terms = []
            if masks_along:
                one = index[along] + views[along]
                terms.append(self.rng.choice([f"({at} + {one} < {shape[along]})", f"({one} < {shape[along]} - {at})",
                                              f"(({at} + {index[along]}){views[along]} < {shape[along]})", f"({one} + {at} <= {shape[along]} - 1)"]))
            if masks_other:
                terms.append(f"({index[other]}{views[other]} < {shape[other]})")
            mask = f", mask={' & '.join(terms)}{filler}" if terms else ""
            where = pointers if walks else f"{base} + ({place(at)})"
            text = f"tl.load({where}{mask}{modifier}){cast}"
            return flip(text) if flipped else text

        def walk(step):
            if walks:
                self.line(f"{pointers} += {step} * {texts[along]}")
        return load, walk

    # --- loops ---

    def loop(self, begin, end, step, stages=True):
        """Opens a loop over multiples of a step; returns the text of its index."""
        index = self.name("at")
        options = f", num_stages={self.rng.randint(1, 4)}" if stages and self.chance(0.25) else ""
        kind = self.rng.choice(["range", "tl.range", "tl.range", "counted", "while"] if self.chance(0.35) else ["range"])
        if kind == "while":
            self.line(f"{index} = {begin} + 0")  # plain Python would count in the argument itself
            self.line(f"while {index} < {end}:")
            self.depth += 1
            return index, lambda: self.line(f"{index} += {step}")
        if kind == "counted":
            count = self.name("t")
            self.line(f"for {count} in range(0, ({end} - {begin} + {step - 1}) // {step}):")
            self.depth += 1
            self.line(f"{index} = {begin} + {count} * {step}")
            return index, lambda: None
        self.line(f"for {index} in tl.range({begin}, {end}, {step}{options}):" if kind == "tl.range" or options
                  else f"for {index} in range({begin}, {end}, {step}):")
        self.depth += 1
        if self.chance(0.2):
            self.line(f"{index} = tl.multiple_of({index}, {self.rng.choice([1, step, step])})" if begin == "0" else f"{index} = {index}")
        return index, lambda: None

    def condition(self, index, flag):
        return self.rng.choice([f"{flag} > 1", f"{index} % 128 == 0", f"{index} < {flag} * 64", f"{index} != 64", f"tl.program_id(0) < {flag}",
                                f"({index} // 64) % 2 == 1"])

    # --- notes: memory that the program itself writes and reads ---

    def notes(self, dtype, each, programs, number):
        """The address of a program's part of memory that starts with zeros, or None: this program has no notes."""
        if self.choices.random() > 0.3:
            return None
        memory = self.buffer(dtype, each * programs, np.zeros(each * programs)).name
        return self.let("notes", f"{memory} + ({number}) * {each}")

    def note_row(self, notes, row, count):
        """A trip notes a row of numbers and reads it back, from where others wrote it, or reads what the trip before noted."""
        here = f"{notes} + tl.arange(0, {count})"
        form = self.choices.choice(["echo", "turned", "neighbour", "before"])
        if form == "turned":
            here = f"{notes} + ({count - 1} - tl.arange(0, {count}))"
        if form == "before":
            old = self.let("old", f"tl.load({here})")
            self.line(f"tl.store({here}, {old} + 1.0)")
            self.line(f"{row} += {old}")
            return
        self.line(f"tl.store({here}, {row})")
        if form == "neighbour":
            other = self.let("other", f"tl.load({notes} + (tl.arange(0, {count}) + {self.choices.randint(1, 9)}) % {count})")
            self.line(f"{row} += tl.where({other} > 3.0, 1.0, 0.0)")
        else:
            self.line(f"{row} = tl.load({here})")

    def note_tile(self, notes, tile, rows, columns):
        """A trip notes a tile and reads it back."""
        r, c = f"tl.arange(0, {rows})[:, None]", f"tl.arange(0, {columns})[None, :]"
        here = f"{notes} + " + self.choices.choice([f"{r} * {columns} + {c}", f"{c} * {rows} + {r}"])
        self.line(f"tl.store({here}, {tile})")
        self.line(f"{tile} = tl.load({here})")

    # --- attention ---

    def attention(self):
        rng = self.rng
        bm, bn, d, warps, stages = rng.choice(ATTENTION[:5] if self.chance(0.8 if self.is_plain else 0.4) else ATTENTION)
        self.program.options = dict(num_warps=warps, num_stages=stages if self.chance(0.8) else rng.randint(1, 5))
        dtype = rng.choice(["float16", "float16", "bfloat16"])
        programs = rng.choice([1, 1, 2, 3]) if bm * d < 16384 else rng.choice([1, 1, 2])
        heads = rng.choice([1, 1, 2])
        self.program.grid = (programs, heads) if heads > 1 else (programs,)
        keys = rng.choice([0, 1, bn // 2, bn, bn + 5, 2 * bn, 2 * bn - 16, 3 * bn, 3 * bn + 8, 4 * bn, 130])
        if self.is_plain:
            keys = -(-keys // 16) * 16
        whole = -(-keys // bn) * bn
        exact_keys = keys if self.chance(0.6) else whole  # else loads need no masks
        rows = bm * programs if self.chance(0.6) else max(bm * programs - rng.choice([1, 8, 16, bm // 2]), 1)
        real_d = d if not self.feature(0.15) or d < 32 else d - rng.choice([8, 16, 1])
        n, flag = self.scalar(keys), self.scalar(rng.randint(0, 3))
        self.line("row = tl.program_id(0) * " + str(bm))
        head = None
        if heads > 1 or self.feature(0.2):
            text = rng.choice(["tl.program_id(1)", "tl.program_id(1).to(tl.int64)"]) + (" // 2" if self.feature(0.2) else "")
            head = heads, self.let("head", text)
        m_index, n_index = self.let("m", f"tl.arange(0, {bm})"), self.let("n", f"tl.arange(0, {bn})")
        if self.feature(0.15):
            self.line(f"if tl.program_id(0) > {flag}:")
            self.line("    return")
        self.first = "0"
        form = rng.choice(["all", "all", "all", "causal", "window", "memory", "scalars"])
        if form == "causal":
            end = self.let("end", f"tl.minimum({n}, row + {bm})")
        elif form == "window":
            self.first = self.let("begin", f"tl.maximum(row - {rng.choice([bn, 2 * bn, 16 * (bn // 16)])}, 0) // {bn} * {bn}")
            end = n
        elif form == "memory":
            bounds = self.table([rng.choice([0, 0, bn, 2 * bn]) for _ in range(programs)] +
                                [rng.choice([0, keys, keys, whole, bn]) if keys else 0 for _ in range(programs)])
            self.first = self.let("begin", f"tl.load({bounds.name} + tl.program_id(0))")
            end = self.let("end", f"tl.minimum(tl.load({bounds.name} + {programs} + tl.program_id(0)), {n})")
        elif form == "scalars":
            self.first, end = self.scalar(rng.choice([0, bn, 3 * bn])), n
        else:
            end = n
        two = self.feature(0.2)
        self.walkable = not two or self.chance(0.5)
        # Sources.
        begin, self.first = self.first, "row"
        q_load, _ = self.source(dtype, (rows, real_d), (bm, d), 0, 2, bm * programs, head)
        self.first = begin
        pages = 0
        if self.feature(0.15):
            order = list(range(max(whole // bn, 1)))
            rng.shuffle(order)
            pages = self.table(order).name, bn
            exact_keys = whole
        k_extent = max(exact_keys, 1)
        k_load, k_walk = self.source(dtype, (real_d, k_extent), (d, bn), 1, 2, whole, head, pages, order=int(self.chance(0.9)))
        v_load, v_walk = self.source(dtype, (k_extent, real_d), (bn, d), 0, 2, whole, head, pages)
        second = self.feature(0.12) and d <= 64
        if second:
            w_load, w_walk = self.source(dtype, (k_extent, real_d), (bn, d), 0, 2, whole, head, pages)
        bias = None
        if self.feature(0.12):
            bias, _ = self.source("float32", (bm * programs, max(k_extent, 1)), (bm, bn), 1, 2, whole, None, 0, "row")
        if self.chance(0.5):
            q = self.let("q", q_load("row"))
        else:
            q = self.let("q", q_load("row"))
            q = self.let("q", rng.choice([f"-{q}", f"({q} * 2.0).to(tl.{dtype})", f"{q}.to(tl.float32).to(tl.{dtype})"]))
        acc, total = self.name("acc"), self.name("total")
        start = rng.choice(["0.0", "0.0", "-64.0"])
        best = self.let("best", f"tl.full([{bm}], {start}, tl.float32)")
        self.line(f"{total} = tl.zeros([{bm}], tl.float32)")
        self.line(f"{acc} = tl.zeros([{bm}, {d}], tl.float32)")
        if second:
            acc2 = self.let("acc", f"tl.zeros([{bm}, {d}], tl.float32)")
        alibi = self.scalar(rng.randint(1, 3)) if self.feature(0.12) else None
        width = self.scalar(rng.choice([1, 20, 64, 130, 300])) if self.feature(0.2) else None
        sparse = self.table([rng.randint(0, 1) for _ in range(max(whole // bn, 1) + 4)]).name if self.feature(0.15) else None
        causal = self.chance(0.4)
        ordering = rng.random()
        early = self.feature(0.25)
        trace = self.buffer("float32", programs * heads * bm * 40) if self.feature(0.1) else None
        shrinks = rng.choice(["none", "sign", "choice"])
        shifts_k = self.feature(0.15)
        p_form = rng.randint(0, 2)
        number = f"tl.program_id(1) * {programs} + tl.program_id(0)"
        row_notes = self.notes("float32", bm, programs * heads, number)
        tile_notes = self.notes(dtype, bm * bn, programs * heads, number)
        noted_first = self.choices.random() < 0.4

        def body(index, step, masked):
            opened = 0
            if sparse:
                self.line(f"if tl.load({sparse} + {index} // {bn}) != 0:")
                self.depth += 1
                opened = 1
            v = self.let("v", v_load(index)) if early else None
            k = self.let("k", k_load(index))
            if shifts_k:
                k = self.let("k", f"({k} + {k}).to(tl.{dtype})")
            s = self.let("s", f"tl.dot({q}, {k})")
            cols = self.let("cols", f"{index} + {n_index}")
            if bias:
                s = self.let("s", f"{s} + {bias(index)}")
            if alibi:
                s = self.let("s", f"{s} + {alibi} * ((row + {m_index})[:, None] - {cols}[None, :])")
            if exact_keys != whole or keys != whole or form != "all":
                s = self.let("s", f"tl.where({cols}[None, :] < {n}, {s}, -100.0)")
            if causal and masked:
                s = self.let("s", f"tl.where((row + {m_index})[:, None] >= {cols}[None, :], {s}, -100.0)")
            if width and masked:
                s = self.let("s", f"tl.where((row + {m_index})[:, None] - {cols}[None, :] < {width}, {s}, -100.0)")
            if row_notes and noted_first:
                self.note_row(row_notes, total, bm)
            p = self.name("p")
            if p_form == 0:
                self.line(f"{p} = tl.minimum(tl.maximum({s}, 0.0), 3.0)")
            elif p_form == 1:
                self.line(f"{p} = tl.where({s} > {best}[:, None], 1.0, tl.where({s} < -50.0, 0.0, 2.0))")
            else:
                better = self.let("better", f"tl.maximum({best}, tl.max({s}, 1))")
                self.line(f"{p} = tl.maximum({s} - {better}[:, None] + 4.0, 0.0)")
                self.line(f"{best} = {better}")
            if shrinks == "sign":
                self.line(f"{acc} = {acc} * tl.where(tl.sum({p}, 1) > 3.0, 1.0, -1.0)[:, None]")
            elif shrinks == "choice":
                shrink = self.let("shrink", f"tl.where(tl.max({s}, 1) > 4.0, 0.0, 1.0)")
                self.line(f"{acc} = {acc} * {shrink}[:, None]")
                self.line(f"{total} = {total} * {shrink}")
            self.line(f"{total} += tl.sum({p}, 1)")
            if row_notes and not noted_first:
                self.note_row(row_notes, total, bm)
            if v is None:
                v = self.let("v", v_load(index))
            x = self.let("x", f"{p}.to(tl.{dtype})")
            if tile_notes:
                self.note_tile(tile_notes, x, bm, bn)
            if ordering < 0.15:
                self.line(f"if {self.condition(index, flag)}:")
                self.line(f"    {acc} = tl.dot({x}, {v}, {acc})")
                if self.chance(0.5):
                    self.line("else:")
                    self.line(f"    {acc} = tl.dot({x}, {v}, -{acc})")
            elif ordering < 0.5:
                self.line(f"{acc} += tl.dot({x}, {v})")
            elif ordering < 0.9:
                self.line(f"{acc} = tl.dot({x}, {v}, {acc})")
            else:
                self.line(f"{acc} = {acc} + tl.dot({x}, {v}) * 2.0")
            if second:
                w = self.let("w", w_load(index))
                self.line(f"{acc2} += tl.dot({x}, {w})")
            if trace:
                self.line(f"tl.store({trace.name} + ((tl.program_id(1) * {programs} + tl.program_id(0)) * 40 + {index} // {bn}) * {bm} + {m_index}, {total})")
            self.depth -= opened
            for each in (k_walk, v_walk) + ((w_walk,) if second else ()):
                each(step)

        if two:
            middle = self.let("middle", f"tl.minimum({end}, {self.first} + {rng.choice([0, 1, 1, 2]) * bn})")
            index, close = self.loop(self.first, middle, bn)
            body(index, str(bn), False)
            close()
            self.depth -= 1
            if self.walkable:
                # Walked pointers stand where the first loop ended, if that was ahead of the end.
                index, close = self.loop(self.let("begin", f"tl.maximum({middle}, {self.first})"), end, bn)
            else:
                index, close = self.loop(middle, end, bn)
            body(index, str(bn), True)
            close()
            self.depth -= 1
        else:
            index, close = self.loop(self.first, end, bn)
            body(index, str(bn), True)
            close()
            self.depth -= 1
        if self.chance(0.3):
            self.line(f"{acc} = {acc} + {total}[:, None]")
        if second:
            self.line(f"{acc} = {acc} - {acc2}")
        self.output(acc, bm, d, programs * heads, f"tl.program_id(1) * {programs} + tl.program_id(0)")
        out = self.buffer("float32", programs * heads * bm)
        self.line(f"tl.store({out.name} + (tl.program_id(1) * {programs} + tl.program_id(0)) * {bm} + {m_index}, {total})")

    def output(self, value, rows, columns, count, number, atomic=False):
        """Stores a tile a program, in one of several orders."""
        r, c = f"tl.arange(0, {rows})", f"tl.arange(0, {columns})"
        buffer = self.buffer("float32", rows * columns * count)
        if self.chance(0.2):
            value = f"tl.trans({value})"
            rows, columns, r, c = columns, rows, c, r
        if self.chance(0.2) and columns >= 4 and not atomic:
            self.line(f"out = tl.make_tensor_descriptor({buffer.name}, [{rows * count}, {columns}], [{columns}, 1], [{rows}, {columns}])")
            self.line(f"out.store([({number}) * {rows}, 0], {value})")
        else:
            name = "atomic_add" if atomic else "store"
            self.line(f"tl.{name}({buffer.name} + ({number}) * {rows * columns} + {r}[:, None] * {columns} + {c}[None, :], {value})")

    # --- products ---

    def products(self):
        rng = self.rng
        bm, bn, bk, warps, stages = rng.choice(PRODUCTS[:7] if self.chance(0.8 if self.is_plain else 0.4) else PRODUCTS)
        self.program.options = dict(num_warps=warps, num_stages=stages if self.chance(0.85) else rng.randint(1, 5))
        dtype = rng.choice(["float16", "float16", "bfloat16", "int8", "float32"] if self.chance(0.3) else ["float16", "bfloat16"])
        sums = "int32" if dtype == "int8" else "float32"
        if dtype == "float32":
            bk = min(bk, 32)
        k = rng.choice([0, 1, bk // 2, bk, bk + 8, 2 * bk, 3 * bk, 3 * bk + 16, 4 * bk + 5, 5 * bk])
        if self.is_plain:
            k = -(-k // 16) * 16
        whole = -(-k // bk) * bk
        exact = k if self.chance(0.7) else whole
        grid_m, grid_n = rng.choice([(1, 1), (1, 2), (2, 1)]) if bm * bn <= 16384 else (1, 1)
        m = bm * grid_m - (0 if self.chance(0.5) else rng.choice([1, 8, bm // 2]))
        n = bn * grid_n - (0 if self.chance(0.5) else rng.choice([16, 16, bn // 2] if self.is_plain else [1, 8, 16, bn // 2]))
        split = rng.choice([1, 1, 1, 2])
        persistent = split == 1 and self.feature(0.2)
        nested = persistent and self.chance(0.5)
        end, flag = self.scalar(k), self.scalar(rng.randint(0, 3))
        tiles = grid_m * grid_n * (2 if persistent else 1)
        self.program.grid = (rng.choice([1, tiles]) if persistent else tiles, split) if split > 1 else ((rng.choice([1, tiles]) if persistent else tiles),)
        if persistent:
            self.line(f"for tile in range(tl.program_id(0), {self.scalar(tiles)}, tl.num_programs(0)):")
            self.depth += 1
        else:
            self.line("tile = tl.program_id(0)")
        self.line(f"place = tile % {grid_m * grid_n}")
        row = self.let("row", f"(place // {grid_n}) * {bm}") if self.chance(0.7) else self.let("row", f"place // {grid_n}") + f" * {bm}"
        column = self.let("column", f"(place % {grid_n}) * {bn}") if self.chance(0.7) else self.let("column", f"place % {grid_n}") + f" * {bn}"
        self.first, step = "0", bk
        if split > 1:
            self.first, step = self.let("begin", f"tl.program_id(1) * {bk}"), bk * split
        elif self.feature(0.1):
            self.first = self.scalar(rng.choice([0, bk]))
        self.walkable = True
        k_extent = max(exact, 1)
        a_load, a_walk = self.source(dtype, (m, k_extent), (bm, bk), 1, 3, whole + bk * (split - 1), shift=row)
        b_load, b_walk = self.source(dtype, (k_extent, n), (bk, bn), 0, 3, whole + bk * (split - 1), shift=column)
        twice = self.feature(0.12) and bm * bn <= 8192
        if twice:
            c_load, c_walk = self.source(dtype, (k_extent, n), (bk, bn), 0, 3, whole + bk * (split - 1), shift=column)
            acc2 = self.let("acc", f"tl.zeros([{bm}, {bn}], tl.{sums})")
        scale = None
        if self.feature(0.12) and dtype != "int8":
            scale = self.buffer("float32", bn * grid_n + 600, self.numbers.integers(0, 3, bn * grid_n + 600)).name
        acc = self.let("acc", f"tl.zeros([{bm}, {bn}], tl.{sums})")
        row_notes, noted = self.notes("float32", bm, tiles * split, f"tl.program_id(0) * {split} + tl.program_id(1)"), None
        if row_notes:
            noted = self.let("noted", f"tl.zeros([{bm}], tl.float32)")
        noted_first = self.choices.random() < 0.5
        index, close = self.loop(self.first, end, step)
        branch = self.feature(0.15)
        if branch:
            self.line(f"if {self.condition(index, flag)}:")
            self.depth += 1
        names = ["a", "b"]
        rng.shuffle(names)
        got = {}
        for each in names:
            got[each] = self.let(each, (a_load if each == "a" else b_load)(index))
        # The tail of a descriptor or a mask is zeros in one factor at least; of memory behind `end` nothing may come.
        limit = f"{index} + tl.arange(0, {bk})"
        zero = "0" if dtype == "int8" else "0.0"
        got["a"] = self.let("a", f"tl.where(({limit})[None, :] < {end}, {got['a']}, {zero}).to(tl.{dtype})") if self.feature(0.1) or exact != k else got["a"]
        if self.feature(0.15) and dtype != "int8":
            which = rng.choice(["a", "b"])
            got[which] = self.let(which, rng.choice([f"-{got[which]}", f"({got[which]}.to(tl.float32) * 2.0).to(tl.{dtype})"]))
        if branch and self.chance(0.4):
            self.depth -= 1
        options = self.rng.choice(["", ', input_precision="ieee"']) if dtype == "float32" and bm * bn < 4096 else ""
        depth_before = self.depth
        product = f"tl.dot({got['a']}, {got['b']}{options})"
        form = rng.randrange(8)
        if branch and depth_before == (3 if persistent else 2):
            form = -1  # the branch ended ahead of the product: what it read may be unset
        if form == -1:
            self.depth += 1
            form = 0
        if noted and noted_first:
            self.line(f"{noted} += 1.0")
            self.note_row(row_notes, noted, bm)
        if scale:
            got_scale = self.let("scale", f"tl.load({scale} + {index} // {bk} + tl.arange(0, {bn}))")
            self.line(f"{acc} += {product} * {got_scale}[None, :]")
        elif form < 4:
            self.line(f"{acc} += {product}")
        elif form < 6:
            self.line(f"{acc} = tl.dot({got['a']}, {got['b']}, {acc}{options})")
        elif form == 6:
            self.line(f"{acc} -= {product}")
        else:
            self.line(f"{acc} = tl.trans(tl.dot(tl.trans({got['b']}), tl.trans({got['a']}){options})) + {acc}")
        if noted and not noted_first:
            self.line(f"{noted} += {'tl.max(' + acc + ', 1).to(tl.float32)' if self.choices.random() < 0.3 else '1.0'}")
            self.note_row(row_notes, noted, bm)
        if twice:
            other = self.let("c", c_load(index))
            self.line(f"{acc2} += tl.dot({got['a']}, {other}{options})")
        if branch:
            self.depth -= 1
        for each in (a_walk, b_walk) + ((c_walk,) if twice else ()):
            each(str(step))
        close()
        self.depth -= 1
        if twice:
            self.line(f"{acc} = {acc} - {acc2} * 2")
        if self.feature(0.15):
            self.line(f"{acc} = {acc} - tl.max({acc}, 1)[:, None]")
        self.output(acc, bm, bn, tiles, "tile", atomic=split > 1)

    # --- the way back through attention, and chains ---

    def backward(self):
        """Loops with several products that share operands, as they stand and turned."""
        rng = self.rng
        bm, bn, d, warps, stages = rng.choice([(64, 64, 64, 4, 2), (128, 64, 64, 8, 2), (64, 64, 128, 4, 2), (128, 128, 64, 8, 2), (64, 32, 64, 4, 3),
                                               (32, 64, 64, 4, 2), (64, 128, 64, 8, 1), (128, 64, 128, 8, 2), (16, 32, 32, 2, 3)])
        self.program.options = dict(num_warps=warps, num_stages=stages if self.chance(0.7) else rng.randint(1, 4))
        dtype = rng.choice(["float16", "bfloat16"])
        trips = rng.choice([0, 1, 2, 3, 4])
        rows = bm * trips if self.chance(0.7) or not trips else max(bm * trips - rng.choice([8, 16]), 1)
        n, flag = self.scalar(rows), self.scalar(rng.randint(0, 3))
        self.line("row = tl.program_id(0) * " + str(bn))
        # Keys stay; queries and what comes back walk by.
        self.walkable, self.first = True, "row"
        k_load, _ = self.source(dtype, (bn, d), (bn, d), 0, 2, bn)
        v_load, _ = self.source(dtype, (bn, d), (bn, d), 0, 2, bn)
        self.first = "0"
        q_load, q_walk = self.source(dtype, (max(rows, 1), d), (bm, d), 0, 2, bm * trips)
        o_load, o_walk = self.source(dtype, (max(rows, 1), d), (bm, d), 0, 2, bm * trips)
        k, v = self.let("k", k_load("row")), self.let("v", v_load("row"))
        dk, dv = self.let("dk", f"tl.zeros([{bn}, {d}], tl.float32)"), self.let("dv", f"tl.zeros([{bn}, {d}], tl.float32)")
        deltas = self.buffer("float32", bm * max(trips, 1), self.numbers.integers(-2, 3, bm * max(trips, 1))).name if self.chance(0.6) else None
        dq = self.buffer("float32", bm * max(trips, 1) * d).name if self.chance(0.4) else None
        turned = self.chance(0.5)  # scores of keys by queries, else of queries by keys
        index, close = self.loop("0", n, bm)
        q = self.let("q", q_load(index))
        o = self.let("o", o_load(index)) if self.chance(0.5) else None
        i = f"({index} + tl.arange(0, {bm}))"
        inside = f"({i} < {n})" + ("[None, :]" if turned else "[:, None]")
        s = self.let("s", f"tl.dot({k}, tl.trans({q}))" if turned else f"tl.dot({q}, tl.trans({k}))")
        if rows != bm * trips or self.chance(0.3):
            s = self.let("s", f"tl.where({inside}, {s}, 0.0)")
        if self.chance(0.3):
            j = f"(row + tl.arange(0, {bn}))"
            s = self.let("s", f"tl.where({i}[None, :] >= {j}[:, None], {s}, 0.0)" if turned else f"tl.where({i}[:, None] >= {j}[None, :], {s}, 0.0)")
        p = self.let("p", f"tl.minimum(tl.maximum({s}, -1.0), 2.0)")
        o = o or self.let("o", o_load(index))
        x = self.let("x", f"{p}.to(tl.{dtype})")
        self.line(f"{dv} = tl.dot({x if turned else f'tl.trans({x})'}, {o}, {dv})" if self.chance(0.5) else
                  f"{dv} += tl.dot({x if turned else f'tl.trans({x})'}, {o})")
        dp = self.let("dp", f"tl.dot({v}, tl.trans({o}))" if turned else f"tl.dot({o}, tl.trans({v}))")
        if deltas:
            delta = self.let("delta", f"tl.load({deltas} + {i})")
            dp = self.let("dp", f"{dp} - {delta}{'[None, :]' if turned else '[:, None]'}")
        ds = self.let("ds", f"tl.minimum(tl.maximum({p} * {dp}, -3.0), 3.0).to(tl.{dtype})")
        branch = self.chance(0.15)
        if branch:
            self.line(f"if {self.condition(index, flag)}:")
            self.depth += 1
        self.line(f"{dk} += tl.dot({ds if turned else f'tl.trans({ds})'}, {q})")
        if branch:
            self.depth -= 1
        if dq:
            back = self.let("dq", f"tl.dot({f'tl.trans({ds})' if turned else ds}, {k})")
            where = f"{dq} + {i}[:, None] * {d} + tl.arange(0, {d})[None, :]"
            self.line(rng.choice([f"tl.atomic_add({where}, {back})", f'tl.atomic_add({where}, {back}, sem="relaxed")',
                                  f"tl.store({where}, tl.load({where}) + {back})"]))
        for each in (q_walk, o_walk):
            each(str(bm))
        close()
        self.depth -= 1
        self.output(dk, bn, d, 1, "tl.program_id(0)")
        self.output(dv, bn, d, 1, "tl.program_id(0)")

    def chains(self):
        """Products whose blocks a table names that the loop writes, or that are carried from trip to trip."""
        rng = self.rng
        bm, bn, bk, warps, stages = rng.choice(PRODUCTS)
        bm, bn, bk = min(bm, 64), min(bn, 128), min(bk, 64)
        self.program.options = dict(num_warps=min(warps, 4), num_stages=rng.randint(1, 4))
        dtype = rng.choice(["float16", "bfloat16"])
        blocks, trips = rng.choice([2, 4, 5]), rng.choice([0, 1, 3, 6])
        count = self.scalar(trips)
        (a, (am, ak), _), (b, (bk_, bn_), _) = self.matrix(dtype, bm, bk * blocks, 2), self.matrix(dtype, bk * blocks, bn, 2)
        size = max(trips + 2, blocks)
        table = self.buffer("int32", size, self.numbers.integers(0, blocks, size)).name
        i, j, k = self.let("i", f"tl.arange(0, {bm})"), self.let("j", f"tl.arange(0, {bn})"), self.let("k", f"tl.arange(0, {bk})")
        acc, at = self.let("acc", f"tl.zeros([{bm}, {bn}], tl.float32)"), self.let("at", f"tl.load({table})" if self.chance(0.5) else "0")
        form = rng.choice(["stored", "stored", "list", "both", "masked", "swapped", "flag"])
        if form == "swapped":
            first, second = self.let("one", f"{a.name} + 0"), self.let("two", f"{a.name} + {bk * ak}")
        index = self.name("t")
        self.line(f"for {index} in tl.range(0, {count}, num_stages={rng.randint(1, 4)}):" if self.chance(0.5) else f"for {index} in range({count}):")
        self.depth += 1
        block = at if form == "list" else self.let("block", f"tl.load({table} + {index})")
        mask = ""
        if form == "masked":
            mask = f", mask={k}[None, :] < tl.load({table} + {index} + 1) * {bk // 4}, other=0.0"
            block = self.let("block", f"{index} % {blocks}")
        base = first if form == "swapped" else a.name
        inner = 0 if form == "swapped" else f"{block} * {bk}"
        x = self.let("x", f"tl.load({base} + {i}[:, None] * {am} + ({inner} + {k})[None, :] * {ak}{mask})")
        y = self.let("y", f"tl.load({b.name} + ({block} * {bk} + {k})[:, None] * {self.stride_text(bk_)} + {j}[None, :] * {self.stride_text(bn_)})")
        if form in ("stored", "both", "masked") and self.chance(0.5):
            self.line(f"tl.store({table} + {index} + 1, ({block} * 3 + 1) % {blocks})")
            form += " first"
        self.line(rng.choice([f"{acc} += tl.dot({x}, {y})", f"{acc} = tl.dot({x}, {y}, {acc})"]))
        if form == "list":
            self.line(f"{at} = tl.load({table} + {at})")
        elif form == "both":
            self.line(f"tl.atomic_add({table} + {index} + 1, {block} - tl.load({table} + {index} + 1))")
        elif form in ("stored", "masked"):
            self.line(f"tl.store({table} + {index} + 1, ({block} + {index}) % {blocks})")
        elif form == "swapped":
            self.line(f"{first}, {second} = {second}, {first}")
        elif form == "flag":
            self.line(f"{acc} = {acc} * (1 - tl.atomic_add({table} + {index}, 1) % 2)")
        self.depth -= 1
        self.output(acc, bm, bn, 1, "0")

    def generate(self):
        form = self.rng.random()
        if form < 0.4:
            self.attention()
        elif form < 0.7:
            self.products()
        elif form < 0.85:
            self.backward()
        else:
            self.chains()
        p = self.program
        host = {number for _, number, *_ in p.descriptors}
        names = [buffer.name for number, buffer in enumerate(p.buffers) if number not in host] + [d[0] for d in p.descriptors] + list(p.scalars)
        header = ["import tegula as triton", "import tegula.language as tl", "", "", "@triton.jit", f"def kernel({', '.join(names)}):"]
        p.source = "\n".join(header + self.lines) + "\n"
        return p


def generate(seed):
    return Generator(seed).generate()


# --- the meaning -----------------------------------------------------------------------------------


class Number(np.ndarray):
    """Integers of 64 bits."""

    def to(self, dtype):
        return self


def number(value):
    return np.asarray(value).astype(np.int64).view(Number)


class Block:
    def __init__(self, pointer, shape, strides, offsets, block):
        self.pointer, self.shape, self.strides, self.offsets, self.block = pointer, shape, strides, [int(x) for x in offsets], block

    def at(self, offsets=None, checks=None):
        offsets = self.offsets if offsets is None else [int(x) for x in offsets]
        inside, where = np.ones(self.block, bool), np.zeros(self.block, np.int64)
        for axis, (begin, extent, stride) in enumerate(zip(offsets, self.block, self.strides)):
            at = (begin + np.arange(extent)).reshape([-1 if a == axis else 1 for a in range(len(self.block))])
            if checks is None or axis in checks:
                inside = inside & (at >= 0) & (at < int(self.shape[axis]))
            where = where + at * int(stride)
        return dot_programs.Pointer(self.pointer.memory, self.pointer.offset + where), inside

    def load(self, offsets):
        pointer, inside = self.at(offsets)
        return load(pointer, inside)

    def store(self, offsets, value):
        pointer, inside = self.at(offsets)
        dot_programs.store(pointer, value, inside)


def load(pointer, mask=True, other=0, boundary_check=(), padding_option="", **modifiers):
    if isinstance(pointer, Block):
        pointer, mask = pointer.at(checks=boundary_check)
    value = dot_programs.load(pointer, mask, other)
    return number(value) if pointer.memory.dtype.kind == "i" and pointer.memory.dtype.itemsize > 1 else value


def atomic_add(pointer, value, sem=""):
    offset, value = np.broadcast_arrays(np.asarray(pointer.offset, np.int64), value)
    before = number(pointer.memory[offset])
    np.add.at(pointer.memory, offset, value.astype(pointer.memory.dtype))
    return before


def bounds(*ends, num_stages=0):
    return map(number, range(*map(int, ends)))


def language(grid, place):
    tl = dot_programs.language()
    place, grid = (*place, 0, 0), (*grid, 1, 1)
    tl.program_id, tl.num_programs = (lambda axis: number(place[axis])), (lambda axis: number(grid[axis]))
    tl.int64 = "int64"
    tl.range, tl.load, tl.atomic_add = bounds, load, atomic_add
    tl.store = lambda pointer, value, mask=True: dot_programs.store(pointer, np.asarray(value, np.float64), mask)
    tl.make_block_ptr = lambda base, shape, strides, offsets, block, order: Block(base, shape, strides, offsets, block)
    tl.advance = lambda b, by: Block(b.pointer, b.shape, b.strides, [x + int(y) for x, y in zip(b.offsets, by)], b.block)
    tl.make_tensor_descriptor = lambda base, shape, strides, block: Block(base, shape, strides, [0] * len(block), block)
    tl.arange = lambda begin, end: number(np.arange(begin, end))
    tl.multiple_of = lambda x, by: x
    tl.where = lambda condition, x, y: (number if isinstance(x, Number) or isinstance(y, Number) else wide)(np.where(condition, x, y))
    return tl


def expected(program):
    """The memory after the program."""
    arrays = program.memory()
    host = {number: Block(dot_programs.Pointer(arrays[number]), shape, strides, [0, 0], block)
            for _, number, shape, strides, block in program.descriptors}
    code = compile(program.source.split("@triton.jit\n")[1], f"seed {program.seed}", "exec")
    arguments = [dot_programs.Pointer(array) for number, array in enumerate(arrays) if number not in host] + list(host.values())
    for place in np.ndindex(*program.grid):
        scope = {"tl": language(program.grid, place), "range": bounds}
        exec(code, scope)
        scope["kernel"](*arguments, *map(number, program.scalars.values()))
    return arrays


if __name__ == "__main__":
    made = generate(int(sys.argv[1]))
    print(made.source)
    print("#", made.grid, made.scalars, made.options, made.descriptors)
    for each in made.buffers:
        print("#", each.name, each.dtype, each.count)
