"""The random programs run as plain Python: `tl` in NumPy, written from the contract, with no code of the compiler.

A third execution beside `interp` and `cpu`. Those two share the front end; this one does not, so that a wrong
promotion, a lost cast or a mask applied twice shows. It knows only what generator.py writes.
"""
import functools
import itertools
import types

import ml_dtypes
import numpy as np

WIDE = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
FLOATS = ("float16", "bfloat16", "float32")
DIGITS = {"float16": 11, "bfloat16": 8}


def numpy_type(name):
    return np.dtype({"bfloat16": ml_dtypes.bfloat16, "bool": np.bool_}.get(name, name))


def name_of(dtype):
    return "bool" if dtype == np.bool_ else np.dtype(dtype).name


def promote(a, b):
    """Integers by width, unsigned where it is at least as wide."""
    if a == b:
        return a
    width = lambda name: np.dtype(name).itemsize
    if a[0] == b[0]:
        return a if width(a) > width(b) else b
    unsigned, signed = (a, b) if a[0] == "u" else (b, a)
    return unsigned if width(unsigned) >= width(signed) else signed


def rounded_integer(value, dtype):
    """N13 for the small types, which NumPy would reach by way of another one."""
    magnitude = abs(value)
    drop = max(0, magnitude.bit_length() - DIGITS[dtype])
    low, half, kept = magnitude & ((1 << drop) - 1), (1 << drop) >> 1, magnitude >> drop
    kept += drop > 0 and (low > half or (low == half and kept & 1 == 1))
    return (-1.0 if value < 0 else 1.0) * float(kept) * 2.0**drop


def convert(array, dtype):
    """N6, N7, N12, N13"""
    source = name_of(array.dtype)
    if dtype == "bool":
        return array != 0
    if source in FLOATS and dtype in ("int8", "uint8"):
        return convert(array, dtype.replace("8", "16")).astype(dtype)
    if source in FLOATS and dtype not in FLOATS:
        wide, info = array.astype(np.float64), np.iinfo(dtype)
        flat = [0 if np.isnan(v) else int(max(min(v, 2.0**65), -2.0**65)) for v in wide.ravel()]
        flat = [min(max(v, info.min), info.max) for v in flat]
        return np.array(flat, dtype=object).reshape(array.shape).astype(dtype)
    if source not in FLOATS and source != "bool" and dtype in DIGITS:
        flat = np.array([rounded_integer(int(v), dtype) for v in array.ravel()], dtype=np.float64)
        return flat.reshape(array.shape).astype(numpy_type(dtype))
    return array.astype(numpy_type(dtype))


def divided(a, b, remainder):
    """N2 to N4, by way of Python's integers."""
    def one(x, y):
        if y == 0:
            return 0
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return x - quotient * y if remainder else quotient
    a, b = np.broadcast_arrays(a, b)
    info = np.iinfo(a.dtype)
    flat = [one(int(x), int(y)) for x, y in zip(a.ravel(), b.ravel())]
    flat = [info.min if v > info.max else v for v in flat]
    return np.array(flat, dtype=object).reshape(a.shape).astype(a.dtype)


def shifted(a, b, left):
    """N5"""
    a, b = np.broadcast_arrays(a, b)
    width = a.dtype.itemsize * 8
    amount = b.view(f"u{b.dtype.itemsize}").astype(np.uint64) if b.dtype.kind == "i" else b.astype(np.uint64)
    large, small = amount >= width, np.minimum(amount, width - 1).astype(a.dtype)
    if left:
        return np.where(large, np.zeros_like(a), a << small)
    return np.where(large, (a >> np.array(width - 1, a.dtype)) if a.dtype.kind == "i" else np.zeros_like(a), a >> small)


class Tile:
    def __init__(self, array):
        self.array = np.asarray(array)

    dtype = property(lambda self: name_of(self.array.dtype))

    def to(self, dtype):
        return dtype(self) if callable(dtype) else Tile(convert(self.array, dtype))

    def __getitem__(self, index):
        return Tile(self.array[index])

    def __bool__(self):
        return bool(self.array)

    def __index__(self):
        return int(self.array)

    def pair(self, other):
        """Both sides in the type of the operation: a Python number takes the tile's."""
        if not isinstance(other, Tile):
            return self.array, np.array(other).astype(self.array.dtype)
        if self.dtype == other.dtype:
            return self.array, other.array
        dtype = promote(self.dtype, other.dtype)
        return convert(self.array, dtype), convert(other.array, dtype)

    def apply(self, other, function):
        with np.errstate(all="ignore"):
            a, b = self.pair(other)
            out = function(a, b)
            return Tile(out if out.dtype == np.bool_ else out.astype(a.dtype))

    def __add__(self, other):
        return other + self if isinstance(other, Pointer) else self.apply(other, np.add)

    __radd__ = __add__

    def __rmul__(self, other): return self.apply(other, np.multiply)
    def __sub__(self, other): return self.apply(other, np.subtract)
    def __rsub__(self, other): return Tile(np.array(other).astype(self.array.dtype)) - self
    def __mul__(self, other): return self.apply(other, np.multiply)
    def __truediv__(self, other): return self.apply(other, np.divide)
    def __floordiv__(self, other): return self.apply(other, lambda a, b: divided(a, b, False))
    def __mod__(self, other): return self.apply(other, lambda a, b: divided(a, b, True))
    def __lshift__(self, other): return self.apply(other, lambda a, b: shifted(a, b, True))
    def __rshift__(self, other): return self.apply(other, lambda a, b: shifted(a, b, False))
    def __and__(self, other): return self.apply(other, np.bitwise_and)
    def __or__(self, other): return self.apply(other, np.bitwise_or)
    def __xor__(self, other): return self.apply(other, np.bitwise_xor)
    def __lt__(self, other): return self.apply(other, np.less)
    def __le__(self, other): return self.apply(other, np.less_equal)
    def __gt__(self, other): return self.apply(other, np.greater)
    def __ge__(self, other): return self.apply(other, np.greater_equal)
    def __eq__(self, other): return self.apply(other, np.equal)
    def __ne__(self, other): return self.apply(other, np.not_equal)
    def __invert__(self): return Tile(~self.array)

    def __neg__(self):
        with np.errstate(all="ignore"):
            return Tile(-self.array if self.dtype in FLOATS else np.zeros_like(self.array) - self.array)


class Pointer:
    """Elements of the launch's arrays: for each the number of its array, and where it lies there."""

    def __init__(self, arrays, which, offset=0):
        self.arrays, self.which, self.offset = arrays, np.asarray(which), np.asarray(offset, dtype=np.int64)

    dtype = property(lambda self: self.arrays[int(self.which.flat[0])].dtype)

    def __add__(self, other):
        return Pointer(self.arrays, self.which,
                       self.offset + (other.array.astype(np.int64) if isinstance(other, Tile) else other))

    def to(self, dtype):
        """As an integer: 2^40 bytes an array, which begins in their middle."""
        assert dtype == "int64"
        return Tile(self.which.astype(np.int64) * 2**40 + 2**39 + self.offset * self.dtype.itemsize)

    def parts(self, *others):
        """For each array that is pointed into: which elements, their offsets, and the same of others of that shape."""
        which, offset, *others = np.broadcast_arrays(self.which, self.offset, *others)
        for number in np.unique(which):
            yield self.arrays[number], which == number, offset, *others


def pointer_of(arrays, integer):
    at = integer.array & (2**40 - 1)
    which = integer.array >> 40
    return Pointer(arrays, which, (at - 2**39) // arrays[int(which.flat[0])].dtype.itemsize)


def load(pointer, mask, other=0):
    result = None
    for array, here, offset, active in pointer.parts(mask.array):
        if result is None:
            result = np.broadcast_to(np.array(other).astype(array.dtype), here.shape).copy()
        result[here & active] = array[offset[here & active]]
    return Tile(result)


def store(pointer, value, mask):
    shape = np.broadcast_shapes(pointer.which.shape, pointer.offset.shape)
    for array, here, offset, active, values in pointer.parts(mask.array, convert(value.array, name_of(pointer.dtype))):
        assert here.shape == shape  # a store spreads its mask and value, not its address
        array[offset[here & active]] = values[here & active]


def where(condition, x, y):
    condition = condition.array if isinstance(condition, Tile) else condition
    if isinstance(x, Pointer):
        return Pointer(x.arrays, np.where(condition, x.which, y.which), np.where(condition, x.offset, y.offset))
    return Tile(np.where(condition, x.array, y.array))


def extreme(function):
    def run(x, y):
        if x.dtype == "bfloat16":
            x, y = x.to("float32"), y.to("float32")
        return Tile(function(x.array, y.array))
    return run


def total(x, axis):
    dtype = WIDE.get(x.dtype, x.dtype)
    if dtype in FLOATS:
        return Tile(np.asarray(x.array.astype(np.float64).sum(axis=axis)).astype(numpy_type(dtype)))
    return Tile(np.asarray(convert(x.array, dtype).sum(axis=axis, dtype=dtype)))


def reduced_extreme(function):
    def run(x, axis):
        dtype = "int32" if x.dtype in WIDE else "float32" if x.dtype in DIGITS else x.dtype
        return Tile(np.asarray(function.reduce(convert(x.array, dtype), axis=axis)))
    return run


def scanned(function):
    def run(x, axis, reverse):
        dtype = WIDE.get(x.dtype, x.dtype) if function is np.add else x.dtype
        dtype = "float32" if dtype == "bfloat16" else dtype
        array = convert(x.array, dtype)
        if reverse:
            array = np.flip(array, axis)
        array = function.accumulate(array, axis=axis, dtype=array.dtype)
        return Tile(np.flip(array, axis) if reverse else array)
    return run


def gather(x, index, axis):
    index = index.array.astype(np.int64)
    inside = (index >= 0) & (index < x.array.shape[axis])
    taken = np.take_along_axis(x.array, np.where(inside, index, 0), axis)
    return Tile(np.where(inside, taken, np.zeros_like(taken)))


def histogram(x, bins, mask):
    values = x.array[np.broadcast_to(mask.array, x.array.shape)].astype(np.int64)
    return Tile(np.bincount(values[(values >= 0) & (values < bins)], minlength=bins).astype(np.int32))


def interleave(a, b):
    joined = np.stack([a.array, b.array], axis=-1)
    return Tile(joined.reshape(*a.array.shape[:-1], -1))


def dot(a, b, acc=None, out_dtype=None, input_precision=None):
    """Exact where all partial sums are, in every precision of the factors."""
    dtype = "int32" if a.dtype == "int8" else out_dtype or "float32"
    wide = np.int64 if a.dtype == "int8" else np.float64
    product = a.array.astype(wide) @ b.array.astype(wide)
    return Tile((product if acc is None else product + acc.array.astype(wide)).astype(numpy_type(dtype)))


def rounded_once(function):
    def run(x):
        with np.errstate(all="ignore"):
            return Tile(np.asarray(function(x.array.astype(np.float64))).astype(x.array.dtype))
    return run


def language(program_id, arrays):
    """The module `tl` of one program."""
    tl = types.SimpleNamespace(**{name: name for name in list(WIDE) + ["int32", "int64", "uint32", "uint64", *FLOATS]})
    tl.program_id = lambda axis: Tile(np.int32(program_id[axis]))
    tl.arange = lambda start, end: Tile(np.arange(start, end, dtype=np.int32))
    tl.zeros = lambda shape, dtype: Tile(np.zeros(shape, numpy_type(dtype)))
    tl.load, tl.store, tl.where = load, store, where
    tl.full = lambda shape, value, dtype: Tile(np.full(shape, value, numpy_type(dtype)))
    tl.int1, tl.static_range = "bool", range
    tl.pointer_type = lambda dtype: functools.partial(pointer_of, arrays)
    tl.maximum, tl.minimum = extreme(np.fmax), extreme(np.fmin)
    tl.sum, tl.max, tl.min = total, reduced_extreme(np.fmax), reduced_extreme(np.fmin)
    tl.abs = lambda x: Tile(np.abs(x.array))
    tl.exp, tl.exp2, tl.sqrt = (rounded_once(f) for f in (np.exp, np.exp2, np.sqrt))
    tl.cumsum, tl.cumprod = scanned(np.add), scanned(np.multiply)
    tl.gather, tl.histogram, tl.interleave = gather, histogram, interleave
    tl.flip = lambda x, axis: Tile(np.flip(x.array, axis))
    tl.join = lambda a, b: Tile(np.stack([a.array, b.array], axis=-1))
    tl.split = lambda x: (Tile(x.array[..., 0]), Tile(x.array[..., 1]))
    tl.cat = lambda a, b, dim: Tile(np.concatenate([a.array, b.array], axis=dim))
    tl.reshape = lambda x, shape: Tile(x.array.reshape(shape))
    tl.permute = lambda x, order: Tile(x.array.transpose(order))
    tl.trans = lambda x: Tile(x.array.T)
    tl.sort = lambda x: Tile(np.sort(x.array, axis=-1))
    tl.dot = dot
    tl.rsqrt = rounded_once(lambda x: 1 / np.sqrt(x))
    return tl


def run(program, arrays):
    """Changes the arrays as the program's launch would."""
    body = program.source.split("@triton.jit\n", 1)[1].replace("@triton.jit\n", "")
    code = compile(body, f"seed {program.seed}", "exec")
    grid = (*program.grid, 1, 1)[:3]
    for z, y, x in itertools.product(range(grid[2]), range(grid[1]), range(grid[0])):
        scope = {"tl": language((x, y, z), arrays)}
        exec(code, scope)
        with np.errstate(over="ignore", invalid="ignore"):
            scope["kernel"](*(Pointer(arrays, i) for i in range(len(arrays))), *(Tile(np.int32(v)) for v in program.scalars.values()))
