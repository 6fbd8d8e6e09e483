"""Random kernels whose loads, stores and atomics of one argument meet: seed -> source text, arguments, launch options.

Each access is a tile of one or two dimensions with strides, distances, offsets and masks of its own, in loops that move it, swap pointers or
branch; in between tiles are summed, scanned, sorted, turned and gathered. The memory model asks for program order among the accesses
through one argument (docs/language/memory-model.md, M12). `dot_programs.expected` runs the text as plain Python.

`python3 test/fuzz/memory_programs.py SEED` prints the program of a seed.
"""
import random
import sys
from dataclasses import dataclass, field

import numpy as np

import dot_programs
import hopper_programs
from dot_programs import wide
from hopper_programs import number

SIZE = 4096
EXTENTS = [4, 16, 32, 64, 64, 128, 128, 256, 512]


class Generator(hopper_programs.Generator):
    def __init__(self, seed):
        super().__init__(seed)
        self.rng = random.Random(f"memory {seed}")
        self.tiles = {}  # shape -> names that hold a tile of it
        self.trips = []  # (the index's text, the most it is) of the loops around
        self.pointers = []

    def address(self, shape, isOneToOne):
        """The text of a tile of addresses within the buffer; each of its own if `isOneToOne`."""
        rng = self.rng
        while True:
            if len(shape) == 1:
                n = shape[0]
                i = f"tl.arange(0, {n})"
                stride = rng.choice([1, 1, 1, 2, 3, 4] + ([] if isOneToOne else [0]))
                text, most = rng.choice([(f"{i} * {stride}", (n - 1) * stride), (i, n - 1), (f"({n - 1} - {i})", n - 1),
                                         (f"({i} ^ {rng.choice([1, 2, n // 2])})", n - 1), (f"({i} * 5 % {n})", n - 1),
                                         (f"({i} % {n // 2} * 2 + {i} // {n // 2})", n - 1)]
                                        + ([] if isOneToOne else [(f"{i} // 2", n), (f"({i} & 3)", 3)]))
            else:
                rows, columns = shape
                r, c = f"tl.arange(0, {rows})[:, None]", f"tl.arange(0, {columns})[None, :]"
                a, b = rng.choice([(columns, 1), (1, rows), (2 * columns, 1), (columns + rng.choice([1, 4]), 1), (1, 2 * rows), (2 * columns, 2)]
                                  + ([] if isOneToOne else [(0, 1), (1, 1), (1, 0), (columns // 2, 1)]))
                text, most = f"{r} * {a} + {c} * {b}", (rows - 1) * a + (columns - 1) * b
            terms = [text]
            for index, count in self.trips:
                if self.chance(0.7):
                    step = rng.choice([1, 2, 4, 16, shape[-1], 2 * shape[-1], int(np.prod(shape)), int(np.prod(shape)) // 2])
                    if self.chance(0.15):
                        terms.append(f"({count} - {index}) * {step}")
                    else:
                        terms.append(f"{index} * {step}")
                    most += step * count
            if self.chance(0.6):
                offset = rng.choice([0, 1, 8, 16, 64, 128, 512, int(np.prod(shape)), shape[-1]])
                terms.append(self.scalar(offset) if self.chance(0.25) else str(offset))
                most += offset
            if most < SIZE // 2:
                rng.shuffle(terms)
                return f"{rng.choice(self.pointers)} + ({' + '.join(terms)})"

    def mask(self, shape):
        if not self.chance(0.3):
            return ""
        index = f"tl.arange(0, {shape[0]})" + ("[:, None]" if len(shape) == 2 else "")
        if len(shape) == 2 and self.chance(0.5):
            index = f"tl.arange(0, {shape[1]})[None, :]"
        return f", mask={index} {self.rng.choice(['<', '>=', '!='])} {self.rng.choice([1, 3, shape[0] // 2, self.scalar(self.rng.randint(0, shape[0]))])}"

    def shape(self):
        if self.tiles and self.chance(0.5):
            return self.rng.choice(list(self.tiles))
        while True:
            shape = tuple(self.rng.choice(EXTENTS) for _ in range(self.rng.choice([1, 1, 2])))
            if 16 <= np.prod(shape) <= 1024:
                return shape

    def value(self, shape):
        known = self.tiles.get(shape, [])
        i = f"tl.arange(0, {shape[0]})" + ("[:, None] + tl.arange(0, %d)[None, :] * 3" % shape[1] if len(shape) == 2 else "")
        if not known or self.chance(0.1):
            return f"({i} + {self.rng.randint(0, 50)})"
        x, y = self.rng.choice(known), self.rng.choice(known)
        return self.rng.choice([x, f"({x} + 1)", f"(({x} + {y} * 3 + 1) & 1023)", f"(({x} + {i}) & 1023)"])

    def hold(self, shape, text):
        name = self.let("t", text)
        if self.depth == 1 or self.keeps:
            self.tiles.setdefault(shape, []).append(name)

    def statement(self):
        rng, kind = self.rng, self.rng.random()
        shape = self.shape()
        if kind < 0.3:
            self.hold(shape, f"tl.load({self.address(shape, False)}{self.mask(shape)})")
        elif kind < 0.62:
            self.line(f"tl.store({self.address(shape, True)}, {self.value(shape)}{self.mask(shape)})")
        elif kind < 0.7:
            name = rng.choice(["atomic_add", "atomic_max", "atomic_add"])
            sem = rng.choice(["", "", ', sem="relaxed"'])
            text = f"tl.{name}({self.address(shape, name == 'atomic_add')}, {self.value(shape)}{self.mask(shape)}{sem})"
            if name == "atomic_add" and self.chance(0.3) and "mask" not in text:
                self.hold(shape, text)
            else:
                self.line(text)
        elif kind < 0.74:
            self.line("tl.debug_barrier()")
        elif kind < 0.8:  # a scalar
            at = f"{rng.choice(self.pointers)} + {rng.choice([0, 1, 5, 64])}" + "".join(f" + {i} * {rng.choice([1, 16])}" for i, _ in self.trips if self.chance(0.5))
            if self.chance(0.5):
                self.line(f"tl.store({at}, {rng.randint(0, 99)})")
            else:
                known = self.let("x", f"tl.load({at})")
                self.hold(shape, f"(({self.value(shape)} + {known}) & 1023)")
        else:
            x = self.let("x", self.value(shape))
            if len(shape) == 2:
                forms = [f"(({x} + tl.sum({x}, 0)[None, :]) & 1023)", f"(({x} + tl.sum({x}, 1)[:, None]) & 1023)",
                         f"(tl.max({x}, 0)[None, :] - {x})", f"(tl.cumsum({x}, {rng.choice([0, 1])}) & 1023)"]
            else:
                i = f"tl.arange(0, {shape[0]})"
                forms = [f"(({x} + tl.sum({x}, 0)) & 1023)", f"(tl.cumsum({x}, 0) & 1023)", f"tl.sort({x})",
                         f"tl.gather({x}, {shape[0] - 1} - {i}, 0)", f"tl.gather({x}, ({i} * 3) % {shape[0]}, 0)", f"tl.flip({x}, 0)"]
            self.hold(shape, rng.choice(forms))

    def statements(self, count):
        for _ in range(count):
            kind = self.rng.random()
            if kind < 0.2 and len(self.trips) < 2:
                trips = self.rng.choice([0, 1, 2, 3, 4])
                index = self.name("i")
                bound = self.scalar(trips) if self.chance(0.6) else str(trips)
                self.line(self.rng.choice([f"for {index} in range({bound}):", f"for {index} in tl.range(0, {bound}, num_stages={self.rng.randint(1, 4)}):"]))
                self.inside((index, max(trips - 1, 0)), self.rng.randint(1, 4))
            elif kind < 0.28:
                condition = self.rng.choice([f"{self.scalar(self.rng.randint(0, 1))} > 0"] + [f"{i} % 2 == 0" for i, _ in self.trips])
                self.line(f"if {condition}:")
                self.inside(None, self.rng.randint(1, 2))
                if self.chance(0.4):
                    self.line("else:")
                    self.inside(None, self.rng.randint(1, 2))
            else:
                self.statement()

    def inside(self, trip, count):
        kept = {shape: list(names) for shape, names in self.tiles.items()}
        if trip:
            self.trips.append(trip)
        self.depth += 1
        swaps = trip and self.chance(0.25) and len(self.pointers) > 1
        self.statements(count)
        if swaps:
            self.line(f"{self.pointers[0]}, {self.pointers[1]} = {self.pointers[1]}, {self.pointers[0]}")
        elif not self.lines[-1].startswith("    " * self.depth):
            self.line("pass")
        self.depth -= 1
        if trip:
            self.trips.pop()
        self.tiles = kept  # what a loop or branch makes may not be there behind it

    keeps = True

    def generate(self):
        p = self.program
        p.options = dict(num_warps=self.rng.choice([1, 2, 4, 4, 8]))
        self.buffer("int32", SIZE, self.numbers.integers(0, 1000, SIZE))
        for offset in self.rng.choice([[0], [0, 0], [0, 16], [0, 512], [0, 1]]):
            self.pointers.append(self.let("at", f"mem0 + {offset}"))
        self.statements(self.rng.randint(3, 9))
        for shape, names in list(self.tiles.items())[:4]:
            out = self.buffer("int32", int(np.prod(shape)))
            index = f"tl.arange(0, {shape[0]})" if len(shape) == 1 else \
                f"tl.arange(0, {shape[0]})[:, None] * {shape[1]} + tl.arange(0, {shape[1]})[None, :]"
            self.line(f"tl.store({out.name} + {index}, {names[-1]})")
        names = [buffer.name for buffer in p.buffers] + list(p.scalars)
        p.source = "\n".join(["import tegula as triton", "import tegula.language as tl", "", "", "@triton.jit",
                              f"def kernel({', '.join(names)}):", *self.lines]) + "\n"
        return p


def generate(seed):
    return Generator(seed).generate()


def language():
    tl = hopper_programs.language((1,), (0,))

    def load(pointer, mask=True):
        return number(dot_programs.load(pointer, mask, 0))

    def update(what):
        def atomic(pointer, value, mask=True, sem=""):
            offset, value, active = np.broadcast_arrays(np.asarray(pointer.offset, np.int64), value, mask)
            before = number(pointer.memory[offset])
            what.at(pointer.memory, offset[active], value[active].astype(pointer.memory.dtype))
            return before
        return atomic
    tl.load, tl.store = load, lambda pointer, value, mask=True: dot_programs.store(pointer, np.asarray(value), mask)
    tl.atomic_add, tl.atomic_max = update(np.add), update(np.maximum)
    tl.debug_barrier = lambda: None
    tl.cumsum = lambda x, axis: number(np.cumsum(x, axis=axis))
    tl.sort, tl.flip = (lambda x: number(np.sort(x))), (lambda x, axis: number(np.flip(x, axis)))
    tl.gather = lambda x, at, axis: number(np.take_along_axis(x, np.asarray(at), axis))
    return tl


def expected(program):
    """The memory after the program."""
    arrays = program.memory()
    scope = {"tl": language(), "range": hopper_programs.bounds}
    exec(compile(program.source.split("@triton.jit\n")[1], f"seed {program.seed}", "exec"), scope)
    scope["kernel"](*map(dot_programs.Pointer, arrays), *map(number, program.scalars.values()))
    return arrays


if __name__ == "__main__":
    made = generate(int(sys.argv[1]))
    print(made.source)
    print("#", made.scalars, made.options)
