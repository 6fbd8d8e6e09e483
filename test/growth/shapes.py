"""Kernels that grow: each row makes a program of a size, so that a runner can ask how compile time grows with it.

`SHAPES[name] = Shape(make, first)`: `make(n)` gives the text of a module whose kernel is `k`, and its signature.
Sizes are doubled from `first`. What bounds a size by the language itself (a tile has at most 2^20 elements) is
refused with a diagnostic when the bound is passed; that ends the growth of a row and is no fault.
"""
from dataclasses import dataclass
from typing import Callable

HEAD = "import triton\nimport triton.language as tl\n\n\n"
JIT = "@triton.jit\n"
POINTERS = "p=*f32:16,q=*f32:16,n=i32"
BEGIN = ["o = tl.arange(0, 64)", "x = tl.load(p + o)", "y = tl.load(q + o)"]
END = ["tl.store(q + o, x)"]
SQUARE = ["r = tl.arange(0, 16)", "o = r[:, None] * 16 + r[None, :]", "x = tl.load(p + o)", "y = tl.load(q + o)"]


@dataclass(frozen=True)
class Shape:
    make: Callable[[int], tuple[str, str]]
    first: int = 16


SHAPES = {}


def shape(first=16):
    def register(make):
        SHAPES[make.__name__] = Shape(make, first)
        return make
    return register


def kernel(lines, parameters="p, q, n", signature=POINTERS, above=""):
    return HEAD + above + JIT + f"def k({parameters}):\n" + "".join(f"    {line}\n" for line in lines), signature


def repeated(n, *lines):
    """The lines n times; {i} in them is the number of the repetition."""
    return [line.replace("{i}", str(i)) for i in range(n) for line in lines]


def nested(n, opening, innermost):
    lines = ["    " * depth + opening.replace("{i}", str(depth)) for depth in range(n)]
    return lines + ["    " * n + line for line in innermost]


def unrolled(n, *lines):
    return [f"for _ in tl.static_range({n}):", *("    " + line for line in lines)]


# --- depth of arithmetic ---------------------------------------------------------------------


@shape(64)
def chain_of_scalars(n):
    return kernel(["s = n", *repeated(n, "s = s * 3 + (s // 7)"), "tl.store(q, s.to(tl.float32))"])


@shape(64)
def chain_of_tiles(n):
    return kernel([*BEGIN, *repeated(n, "x = x * y + {i}.5"), *END])


@shape(64)
def chain_unrolled(n):
    return kernel([*BEGIN, *unrolled(n, "x = x * y + x"), *END])


@shape(64)
def chain_of_where(n):
    return kernel([*BEGIN, *repeated(n, "x = tl.where(x > y, x + {i}, x * 2)"), *END])


@shape(16)
def chain_of_casts(n):
    return kernel([*BEGIN, *repeated(n, "x = (x * y).to(tl.float16).to(tl.float32)"), *END])


@shape(8)
def chain_of_exponentials(n):
    return kernel([*BEGIN, *repeated(n, "x = tl.exp(x) + y"), *END])


@shape(8)
def chain_of_quotients(n):
    return kernel(["o = tl.arange(0, 64)", "z = o + n", *repeated(n, "z = z // (o + {i} + 1) + o"),
                   "tl.store(q + o, z.to(tl.float32))"])


@shape(64)
def sums_of_doubles(n):
    return kernel([*BEGIN, *unrolled(n, "x = x + x"), *END])


@shape(64)
def tree_of_sums(n):
    values = [f"tl.load(p + o + {i})" for i in range(n)]
    lines = [f"v{i} = {value}" for i, value in enumerate(values)]
    names, fresh = [f"v{i}" for i in range(n)], 0
    while len(names) > 1:
        paired = []
        for left, right in zip(names[::2], names[1::2]):
            lines.append(f"t{fresh} = {left} + {right}")
            paired.append(f"t{fresh}")
            fresh += 1
        names = paired + names[len(names) // 2 * 2:]
    return kernel([BEGIN[0], *lines, f"tl.store(q + o, {names[0]})"])


# --- addresses and masks ---------------------------------------------------------------------


@shape(64)
def address_of_sums(n):
    return kernel(["i = tl.arange(0, 64)", "o = i", *unrolled(n, "o = o + i"), "tl.store(q + i, tl.load(p + o))"])


@shape(4)
def address_of_xorshifts(n):
    return kernel(["i = tl.arange(0, 64)", "o = i + n",
                   *unrolled(n, "o ^= o << 13", "o ^= o >> 17", "o ^= o << 5"), "tl.store(q + i, tl.load(p + (o & 1023)))"])


@shape(16)
def address_of_products(n):
    return kernel(["i = tl.arange(0, 64)", "o = i", *unrolled(n, "o = o * n + i"), "tl.store(q + i, tl.load(p + o))"])


@shape(16)
def address_of_scalars(n):
    return kernel(["i = tl.arange(0, 64)", "s = n", *repeated(n, "s = s * n + {i}"), "tl.store(q + i, tl.load(p + s + i))"])


@shape(16)
def chased_pointers(n):
    return kernel(["i = tl.arange(0, 64)", "o = i", *unrolled(n, "o = tl.load(p + o)"), "tl.store(q + i, o.to(tl.float32))"],
                  signature="p=*i32:16,q=*f32:16,n=i32")


@shape(16)
def moved_pointers(n):
    return kernel(["i = tl.arange(0, 64)", "a = p + i", "x = tl.load(a)",
                   *unrolled(n, "a += n", "x += tl.load(a)"), "tl.store(q + i, x)"])


@shape(16)
def conjunctions(n):
    return kernel(["o = tl.arange(0, 64)", "m = o < n", *repeated(n, "m = m & (o + {i} * n < {i} + n)"),
                   "tl.store(q + o, tl.load(p + o, m, 0.0), m)"])


@shape(4)
def doubled_conjunctions(n):
    return kernel(["o = tl.arange(0, 64)", "m = o < n", *repeated(n, "m = (m & (o < n + {i})) & (m & (o > n - {i}))"),
                   "tl.store(q + o, tl.load(p + o, m, 0.0), m)"])


@shape(16)
def chosen_pointers(n):
    return kernel(["o = tl.arange(0, 64)", "a = p + o", *repeated(n, "a = tl.where(o < n + {i}, a + {i}, q + o)"),
                   "tl.store(q + o, tl.load(a))"])


# --- accesses --------------------------------------------------------------------------------


@shape(16)
def loads_then_stores(n):
    return kernel(["o = tl.arange(0, 64)", *repeated(n, "v{i} = tl.load(p + {i} * 64 + o)"),
                   *repeated(n, "tl.store(q + {i} * 64 + o, v{i})")])


@shape(16)
def loads_and_stores(n):
    return kernel(["o = tl.arange(0, 64)", *repeated(n, "tl.store(q + {i} * 64 + o, tl.load(p + {i} * 64 + o))")])


@shape(16)
def loads_and_stores_masked(n):
    return kernel(["o = tl.arange(0, 64)",
                   *repeated(n, "tl.store(q + {i} * n + o, tl.load(p + {i} * n + o, o < n - {i}, 0.0), o < n - {i})")])


@shape(16)
def loads_and_stores_of_squares(n):
    return kernel([*SQUARE[:2], *repeated(n, "tl.store(q + {i} * n + o, tl.load(p + {i} * n + o))")])


@shape(16)
def stores_of_one_value(n):
    return kernel([*BEGIN, *repeated(n, "tl.store(q + {i} * n + o, x)")])


@shape(16)
def stores_of_a_chain(n):
    return kernel([*BEGIN, *repeated(n, "x = x * y + {i}", "tl.store(q + {i} * 64 + o, x)")])


@shape(16)
def loads_of_scalars(n):
    return kernel(["s = tl.load(p)", *repeated(n, "s += tl.load(p + {i})"), "tl.store(q, s)"])


@shape(16)
def stores_of_scalars(n):
    return kernel(["s = tl.load(p)", *repeated(n, "tl.store(q + {i}, s)")])


@shape(8)
def atomics(n):
    return kernel(["o = tl.arange(0, 64)", *repeated(n, "tl.atomic_add(q + o + {i}, 1.0)")])


@shape(8)
def atomics_with_results(n):
    return kernel([*BEGIN, *repeated(n, "x += tl.atomic_add(p + o + {i}, x)"), *END])


# --- control ---------------------------------------------------------------------------------


@shape(4)
def nested_loops(n):
    return kernel([*BEGIN, *nested(n, "for i{i} in range(n):", ["x = x * y + 1.0"]), *END])


@shape(4)
def nested_loops_over_memory(n):
    return kernel([*BEGIN[:1], *nested(n, "for i{i} in range(n):", ["tl.store(q + o, tl.load(p + o + i0) + 1.0)"])])


@shape(4)
def nested_ifs(n):
    return kernel([*BEGIN, *nested(n, "if n > {i}:", ["x = x * y + 1.0"]), *END])


@shape(4)
def nested_whiles(n):
    return kernel([*BEGIN, "c = n", *nested(n, "while c > {i}:", ["x = x * y + 1.0", "c -= 1"]), *END])


@shape(8)
def loops_in_a_row(n):
    return kernel([*BEGIN, *repeated(n, "for i in range(n):", "    x += tl.load(p + i * 64 + o)"), *END])


@shape(8)
def ifs_in_a_row(n):
    return kernel([*BEGIN, *repeated(n, "if n > {i}:", "    x = x * y", "else:", "    x = x + y"), *END])


@shape(8)
def whiles_in_a_row(n):
    return kernel([*BEGIN, "c = n", *repeated(n, "while c > {i}:", "    x = x * y", "    c -= 1"), *END])


@shape(8)
def carried_tiles(n):
    return kernel([*BEGIN, *repeated(n, "x{i} = x * {i}"), "for i in range(n):",
                   *repeated(n, "    x{i} += tl.load(p + i * 64 + o + {i})"), *repeated(n, "x += x{i}"), *END])


@shape(8)
def carried_scalars(n):
    return kernel([*BEGIN, *repeated(n, "s{i} = n + {i}"), "for i in range(n):", *repeated(n, "    s{i} = s{i} * 3 + i"),
                   *repeated(n, "x += s{i}"), *END])


@shape(8)
def chain_of_slow_paths(n):
    return kernel([*BEGIN, *repeated(n, "x += tl.cos(y * {i})"), *END])


@shape(8)
def body_of_a_loop(n):
    return kernel([*BEGIN, "for i in range(n):", *(f"    {line}" for line in repeated(n, "x = x * y + tl.load(p + i + o)")), *END])


# --- helpers, arguments, names ---------------------------------------------------------------


def helpers(n, body):
    return "".join(JIT + f"def h{i}(x, y):\n    return {body(i)}\n\n\n" for i in range(n))


@shape(8)
def helpers_in_a_row(n):
    return kernel([*BEGIN, *repeated(n, "x = h{i}(x, y)"), *END], above=helpers(n, lambda i: f"x * y + {i}"))


@shape(4)
def helpers_of_helpers(n):
    return kernel([*BEGIN, f"x = h{n - 1}(x, y)", *END],
                  above=helpers(n, lambda i: f"h{i - 1}(x, y) * y + {i}" if i else "x + y"))


@shape(16)
def calls_of_a_helper(n):
    return kernel([*BEGIN, *unrolled(n, "x = h0(x, y)"), *END], above=helpers(1, lambda i: "tl.where(x > y, x - y, x * y)"))


@shape(16)
def types_of_one_helper(n):
    types = ("int8", "int16", "int32", "int64", "uint8", "uint16", "float16", "float32", "float64")
    return kernel([*BEGIN, *(f"x = h0(x.to(tl.{types[i % len(types)]}), y).to(tl.float32)" for i in range(n)), *END],
                  above=helpers(1, lambda i: "x * 2 + y"))


@shape(8)
def arguments(n):
    names = [f"a{i}" for i in range(n)]
    return kernel([*BEGIN, *repeated(n, "x += a{i}"), *END], ", ".join(["p", "q", "n", *names]),
                  ",".join([POINTERS, *(f"{name}=f32" for name in names)]))


@shape(8)
def arguments_of_pointers(n):
    names = [f"a{i}" for i in range(n)]
    return kernel([*BEGIN, *repeated(n, "x += tl.load(a{i} + o)"), *END], ", ".join(["p", "q", "n", *names]),
                  ",".join([POINTERS, *(f"{name}=*f32:16" for name in names)]))


@shape(16)
def table_of_constants(n):
    return kernel([*BEGIN, f"T: tl.constexpr = ({', '.join(str(i * 7 % 13) + '.0' for i in range(n))},)",
                   f"for i in tl.static_range({n}):", "    x = x * T[i]", *END])


@shape(16)
def tuples(n):
    return kernel([*BEGIN, f"t = ({', '.join(f'x * {i}' for i in range(n))},)",
                   f"for i in tl.static_range({n}):", "    x += t[i]", *END])


@shape(64)
def length_of_names(n):
    name = "v" * n
    return kernel([*BEGIN, *repeated(8, f"{name}{{i}} = x * {{i}}", f"x += {name}{{i}}"), *END])


@shape(64)
def comments(n):
    return kernel([*BEGIN, *repeated(n, "# line {i} says nothing"), *END])


@shape(64)
def unrolled_in_unrolled(n):
    return kernel([*BEGIN, f"for i in tl.static_range({n // 16}):", "    for j in tl.static_range(16):",
                   "        x = x * y + (i + j)", *END])


# --- reductions, scans, products, shapes -----------------------------------------------------


@shape(8)
def chain_of_reductions(n):
    return kernel([*BEGIN, *repeated(n, "x = x * tl.sum(x * y, 0)"), *END])


@shape(8)
def reductions_of_one_tile(n):
    return kernel([*BEGIN, "s = 0.0", *repeated(n, "s += tl.max(x * {i}, 0)"), "tl.store(q + o, x + s)"])


@shape(8)
def reductions_of_squares(n):
    return kernel([*SQUARE, *repeated(n, "x = x + tl.sum(x * y, 1)[:, None] + tl.max(x, 0)[None, :]"), *END])


@shape(4)
def chain_of_scans(n):
    return kernel([*BEGIN, *repeated(n, "x = tl.cumsum(x * y, 0)"), *END])


@shape(2)
def chain_of_dots(n):
    return kernel([*SQUARE, *repeated(n, "x = tl.dot(x, y)"), *END])


@shape(2)
def sum_of_dots(n):
    return kernel([*SQUARE, "c = x * 0.0", *repeated(n, "c = tl.dot(x * {i}, y, c)"), "tl.store(q + o, c)"])


@shape(8)
def chain_of_transposes(n):
    return kernel([*SQUARE, *repeated(n, "x = tl.trans(x) * y + x"), *END])


@shape(8)
def chain_of_reshapes(n):
    return kernel([*BEGIN, *repeated(n, "x = tl.reshape(tl.reshape(x, (8, 8)) * {i} + 1.0, (64,)) + y"), *END])


@shape(8)
def outer_products(n):
    return kernel([*SQUARE, *repeated(n, "a{i} = tl.load(p + r + {i})", "x += a{i}[:, None] * a{i}[None, :]"), *END])


@shape(4)
def joins_and_splits(n):
    return kernel([*BEGIN, *repeated(n, "x, y = tl.split(tl.join(x + y, x * {i}))"), *END])


@shape(4)
def chain_of_gathers(n):
    return kernel([*BEGIN, *unrolled(n, "x = tl.gather(x, (o * 7 + 3) % 64, 0) + y"), *END])


@shape(4)
def chain_of_flips(n):
    return kernel([*BEGIN, *unrolled(n, "x = tl.flip(x) + y"), *END])


@shape(2)
def sorts(n):
    return kernel([*BEGIN, *repeated(n, "x = tl.sort(x) + y"), *END])


@shape(2)
def random_numbers(n):
    return kernel([*BEGIN, *repeated(n, "x += tl.rand({i}, o)"), *END])


@shape(2)
def prints(n):
    return kernel([*BEGIN, *repeated(n, "tl.device_print('x{i}', x)"), *END])


# --- mixtures ---------------------------------------------------------------------------------


@shape(512)  # fewer are joined to one `if`, and so take no time: a step, not a slope
def unrolled_ifs(n):
    return kernel([*BEGIN, *unrolled(n, "if n > 3:", "    x = x * y", "else:", "    x = x + y"), *END])


@shape(8)
def chain_of_selected_tuples(n):
    return kernel([*BEGIN, "t = (x, (y, x))", *repeated(n, "t = (t[1][0], (t[0] + {i}, t[1][1]))"), "x = t[0] + t[1][0] + t[1][1]", *END])


@shape(8)
def constexpr_parameters(n):
    names = [f"C{i}" for i in range(n)]
    return kernel([*BEGIN, *repeated(n, "x += C{i}"), *END], ", ".join(["p", "q", "n", *(f"{name}: tl.constexpr" for name in names)]),
                  ",".join([POINTERS, *(f"{name}={i}" for i, name in enumerate(names))]))


@shape(2)
def helpers_called_twice(n):
    return kernel([*BEGIN, f"x = h{n - 1}(x, y)", *END],
                  above=helpers(n, lambda i: f"h{i - 1}(x, y) * h{i - 1}(y, x)" if i else "x + y"))


@shape(8)
def assertions(n):
    return kernel([*BEGIN, *repeated(n, "tl.device_assert(x > {i}, 'x{i}')"), *END])


@shape(2)
def dots_in_a_pipelined_loop(n):
    return kernel([*SQUARE, "c = x * 0.0", "for i in tl.range(0, n, num_stages=3):",
                   *repeated(n, "    c = tl.dot(tl.load(p + o + i * 256 + {i}), tl.load(q + o + i * 256), c)"), "tl.store(q + o, c)"])


@shape(2)
def loads_of_a_pipelined_loop(n):
    return kernel([*BEGIN, "for i in tl.range(0, n, num_stages=4):",
                   *repeated(n, "    x += tl.load(p + i * 64 + o + {i} * n)"), *END])


@shape(2)
def histograms(n):
    return kernel(["o = tl.arange(0, 64)", "z = o & 15", *repeated(n, "z = z + tl.gather(tl.histogram(z & 15, 16), z & 15, 0)"),
                   "tl.store(q + o, z.to(tl.float32))"])


@shape(2)
def atomics_in_loops(n):
    return kernel([*BEGIN, *repeated(n, "for i in range(n):", "    for j in range(i):", "        tl.atomic_add(q + o + j + {i}, x)"), *END])


@shape(64)
def length_of_texts(n):
    return kernel([*BEGIN, *repeated(8, f"tl.device_print('{'a' * n}{{i}}', x)"), *END])


@shape(64)
def kernels_of_a_module(n):
    return kernel([*BEGIN, *END], above="".join(JIT + f"def k{i}(p, q, n):\n    o = tl.arange(0, 64)\n    tl.store(q + o, tl.load(p + o) + {i})\n\n\n"
                                               for i in range(n)))


@shape(4)
def ifs_with_loads(n):
    return kernel([*BEGIN, *repeated(n, "if tl.load(p + {i}) > 0.0:", "    x += tl.load(q + o + {i})"), *END])


@shape(4)
def returns_in_a_row(n):
    return kernel([*BEGIN, *repeated(n, "if n == {i}:", "    tl.store(q + o, x * {i})", "    return", "x += y"), *END])


@shape(4)
def breaks_of_a_loop(n):
    return kernel([*BEGIN, "for i in range(n):", *repeated(n, "    if i * i == n + {i}:", "        break", "    x = x * y"), *END])


@shape(4)
def chain_of_broadcasts(n):
    return kernel([*SQUARE, *repeated(n, "x = x + tl.broadcast_to(tl.sum(x, 1)[:, None], (16, 16)) * {i}"), *END])


@shape(16)
def rounds_of_a_hash(n):
    """Eight words that each round mixes and turns: all of them are alive everywhere."""
    words = "abcdefgh"
    turn = ["s = h + ((e >> 6) | (e << 26)) + ((e & f) ^ (~e & g)) + {i}", "t = ((a >> 2) | (a << 30)) + ((a & b) ^ (a & c) ^ (b & c))",
            "h, g, f, e, d, c, b, a = g, f, e, d + s, c, b, a, s + t"]
    begin = [*BEGIN, "v = x.to(tl.uint32, bitcast=True)", *(f"{word} = v + {i}" for i, word in enumerate(words))]
    return kernel([*begin, *repeated(n, *turn), "tl.store(q + o, (" + " ^ ".join(words) + ").to(tl.float32, bitcast=True))"])


@shape(16)
def elifs(n):
    lines = ["if n == 0:", "    x += 1.0"]
    for i in range(1, n):
        lines += [f"elif n == {i}:", f"    x += {i}.0"]
    return kernel([*BEGIN, *lines, *END])


# --- size of tiles ---------------------------------------------------------------------------


def sized(lines, n):
    return kernel([f"o = tl.arange(0, {n})", "x = tl.load(p + o, o < n, 0.0)", *lines])


@shape(1024)
def size_elementwise(n):
    return sized(["tl.store(q + o, x * 2.0 + 1.0, o < n)"], n)


@shape(1024)
def size_of_reduction(n):
    return sized(["tl.store(q + o, x / tl.sum(tl.exp(x - tl.max(x, 0)), 0), o < n)"], n)


@shape(64)
def size_of_scan(n):
    return sized(["tl.store(q + o, tl.cumsum(x, 0))"], n)


@shape(64)
def size_of_sort(n):
    return sized(["tl.store(q + o, tl.sort(x))"], n)


@shape(64)
def size_of_gather(n):
    return sized([f"tl.store(q + o, tl.gather(x, (o * 7) % {n}, 0))"], n)


@shape(256)
def size_of_atomics(n):
    return sized(["tl.store(q + o, tl.atomic_add(p + o, x))"], n)


def side(n):
    """A power of two near the root of n, and what is left: the tile has n elements."""
    rows = 1 << (n.bit_length() - 1) // 2
    return rows, n // rows


@shape(1024)
def size_of_transpose(n):
    rows, columns = side(n)
    return kernel([f"r = tl.arange(0, {rows})", f"c = tl.arange(0, {columns})",
                   f"x = tl.load(p + r[:, None] * {columns} + c[None, :])",
                   f"tl.store(q + c[:, None] * {rows} + r[None, :], tl.trans(x))"])


@shape(1024)
def size_of_dot(n):
    rows, columns = side(n)
    return kernel([f"r = tl.arange(0, {rows})", f"c = tl.arange(0, {columns})", "i = tl.arange(0, 16)",
                   "a = tl.load(p + r[:, None] * 16 + i[None, :])", f"b = tl.load(p + i[:, None] * {columns} + c[None, :])",
                   f"tl.store(q + r[:, None] * {columns} + c[None, :], tl.dot(a, b))"])
