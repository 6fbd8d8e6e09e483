"""Programs of a kernel that Python runs: each operation goes through the compiler's own rules and is carried out at once
(src/eager). Here are the values as Python sees them, and what a statement of the language means where Python's meaning
is another one. Nothing here knows a type rule, a builtin or a shape."""
import builtins
import functools
import linecache
import os
import sys
import warnings

from .. import _tegula as core
from ..encode import object_of
from ..errors import CompilationError, placed
from ..language import core as lang
from ..language.core import running
from .rewrite import rewritten

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OF_PYTHON = {kind: lang.Builtin(f"builtins.{kind.__name__}") for kind in (int, float, bool, str, tuple, list)}


class NoSuchAttribute(CompilationError, AttributeError):
    """A value of a kernel has no such attribute."""


def _program():
    if running.session is None:
        raise RuntimeError("this value belongs to a kernel that has ended\n  hint: numpy.asarray(x) inside of the kernel "
                           "keeps its elements")
    return running.session


class _Value:
    """A value of a kernel: its attributes and methods are the language's."""

    __slots__ = ("_held", )
    __hash__ = object.__hash__
    __array_ufunc__ = None  # `numpy_scalar + x` is the language's sum

    def __init__(self, held):
        self._held = held

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return _program().attribute(self, name)

    def __len__(self):
        return _program().call_named("builtins.len", (self, ), {})

    def __getitem__(self, index):
        indices = index if isinstance(index, tuple) else (index, )
        indices = tuple(_index_text(i) for i in indices)
        return _program().do(core.DO_SUBSCRIPT, "", (self, *indices))

    def __abs__(self):
        return _program().call_named("builtins.abs", (self, ), {})

    def __repr__(self):
        return self._held.type


class TypeValue(_Value):
    """The type of a pointer or of a tile: ``ptr.dtype``, ``x.type``."""

    __slots__ = ()

    def __hash__(self):
        return hash(self._held.type)


class Descriptor(_Value, lang.tensor_descriptor):
    """A tensor descriptor."""

    __slots__ = ()


class BlockPointer(_Value, lang.tensor):
    """A block pointer."""

    __slots__ = ()


class Shape(tuple):
    """A tuple of the language, which is equal to a list of the same numbers."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other):
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        return tuple(self) == tuple(map(lang._unwrap, other))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal


class Handle:
    """``x.handle``, as upstream's interpreter has it: `data` is a NumPy array."""

    def __init__(self, tensor):
        self._tensor = tensor

    @property
    def data(self):
        return self._tensor.__array__()

    @property
    def dtype(self):
        return self._tensor.dtype


class Tensor(_Value, lang.tensor):
    """A scalar or tile of a kernel. Its elements never change: `numpy.asarray(x)` is a view that is only read."""

    __slots__ = ("_data", )

    @property
    def handle(self):
        return Handle(self)

    @property
    def data(self):
        """The elements as a NumPy array: pointers as addresses, bfloat16 and 8-bit floats as the float32 they are."""
        return self.__array__()

    def _elements(self):
        """(bytes, type as the array interface spells it)"""
        held = self._held
        if held.is_pointer:
            return held.data, "<u8"
        dtype = lang.dtype(core.dtype_name(held.dtype))
        if dtype.is_bool():
            return held.data, "|b1"
        if dtype.is_fp8() or dtype.name == "bf16":
            wide = _program().do(core.DO_METHOD, "to", (self, lang.dtype("fp32")))
            return wide._held.data, "<f4"
        kind = "f" if dtype.is_floating() else "i" if dtype.is_int_signed() else "u"
        return held.data, f"<{kind}{dtype.itemsize}"

    def __array__(self, dtype=None, copy=None):
        import numpy

        try:
            array = self._data
        except AttributeError:
            elements, kind = self._elements()
            array = self._data = numpy.frombuffer(elements, kind).reshape(self._held.shape)
        return array.astype(dtype) if dtype is not None and dtype != array.dtype else array.copy() if copy else array

    def _scalar(self, what):
        if self._held.shape:
            raise TypeError(f"{what} of a tile of type {self._held.type}\n  hint: reduce it first, as with x.sum(), or look at "
                            "numpy.asarray(x)")
        return self.__array__()[()]

    def __bool__(self):
        truth = _program().do(core.DO_CONDITION, "", (self, ))
        return truth if isinstance(truth, bool) else truth._held.data != b"\0"

    def __index__(self):
        return self._scalar("an index").__index__()

    def __int__(self):
        return int(self._scalar("int()"))

    def __float__(self):
        return float(self._scalar("float()"))

    def __iter__(self):
        raise TypeError("a tile is one value: it cannot be unpacked, or walked over\n  hint: look at numpy.asarray(x), or use "
                        "tl.split")

    def __setitem__(self, index, value):
        raise TypeError("assignment to an element: tiles are values\n  hint: use tl.where(mask, new, x), or tl.store to memory")

    def __str__(self):
        return str(self.__array__()[()])

    def __repr__(self):
        return f"{self} {self._held.type}" if not self._held.shape else f"{self}\n{self._held.type}"

    def __format__(self, spec):
        return format(self._scalar("a format"), spec) if spec else str(self)


def _index_text(index):
    """Slices other than `:` are no indices of the language; they get there as texts, to be refused."""
    if index is Ellipsis:
        return "..."
    if isinstance(index, slice) and index != slice(None):
        return f"{index.start}:{index.stop}"
    return index


def _add_operators():

    def binary(symbol):
        return lambda self, other: NotImplemented if lang.is_aggregate(other) else _program().do(
            core.DO_BINARY, symbol, (self, other))

    def reflected(symbol):
        return lambda self, other: _program().do(core.DO_BINARY, symbol, (other, self))

    def compare(symbol):
        return lambda self, other: NotImplemented if lang.is_aggregate(other) else _program().do(core.DO_COMPARE, symbol, (self, other))

    def unary(symbol):
        return lambda self: _program().do(core.DO_UNARY, symbol, (self, ))

    symbols = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
               "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"}
    for name, symbol in symbols.items():
        setattr(_Value, f"__{name}__", binary(symbol))
        setattr(_Value, f"__r{name}__", reflected(symbol))
    for name, symbol in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        setattr(_Value, f"__{name}__", compare(symbol))
    for name, symbol in {"neg": "-", "pos": "+", "invert": "~"}.items():
        setattr(_Value, f"__{name}__", unary(symbol))


_add_operators()
_CLASSES = {core.HELD_TILE: Tensor, core.HELD_BLOCK_POINTER: BlockPointer, core.HELD_DESCRIPTOR: Descriptor,
            core.HELD_TYPE: TypeValue}


def _wrap(kind, payload):
    """Called by the extension for what it has no object for."""
    if kind == core.HELD:
        return _CLASSES[payload.kind](payload)
    if kind == core.DTYPE:
        return lang.dtype(core.dtype_name(payload))
    if kind == core.OPAQUE:
        return object_of(payload)
    return lang.resolve(payload)


@functools.lru_cache(maxsize=4096)
def _positions(code):
    return list(code.co_positions()) if hasattr(code, "co_positions") else None


class Session:
    """The programs of one launch; `running.session` while Python runs them."""

    def __init__(self, function, args, kwargs):
        self.program = core.Program(function, _wrap, args, kwargs)
        self._sources = {}

    # ---- the door ----

    def _span(self):
        """The place in the kernel: (source, line, column, last line, last column), for the errors of an operation."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        if frame is None:
            return None
        path = frame.f_code.co_filename
        if path not in self._sources:
            self._sources[path] = self.program.add_source(path, "".join(linecache.getlines(path)))
        known = _positions(frame.f_code)
        line, last, column, end = known[frame.f_lasti // 2] if known else (None, ) * 4
        line = line or frame.f_lineno or 0
        return self._sources[path], line, (column or 0) + 1, last or line, (end or 0) + 1

    def _lower(self, value):
        """The form of a value that the extension takes."""
        if isinstance(value, _Value):
            return value._held
        if isinstance(value, lang.constexpr):
            return self._lower(value.value)
        if isinstance(value, (tuple, list)):
            return tuple(map(self._lower, value))
        if isinstance(value, lang.pointer_type):
            return self.call_named("triton.language.pointer_type", (value.element_ty, ), {})._held
        if isinstance(value, lang.block_type):
            return self.call_named("triton.language.block_type", (value.element_ty, value.shape), {})._held
        return _OF_PYTHON.get(value, value) if isinstance(value, type) else value

    def do(self, action, name, operands, keywords=None):
        """Carries out an operation."""
        lowered = {key: self._lower(value) for key, value in keywords.items()} if keywords else None
        result, rows = self.program.do(action, name, self._span(), tuple(map(self._lower, operands)), lowered)
        for severity, kind, path, line, column, message, hint in rows or ():
            if kind == "StaticPrint":
                print(message)
            else:
                warnings.warn(placed(path, line, column, message), stacklevel=2)
        return result

    def call_named(self, name, args, kwargs):
        """Calls a builtin by its canonical name."""
        if name == "triton.language.static_range":
            return builtins.range(*map(_constant, args))
        if name == "triton.language.range":
            return loop(*args, **{key: kwargs[key] for key in ("arg1", "arg2", "step") if key in kwargs})
        if name == "triton.language.static_print" and "end" in kwargs:  # the next text goes on with the line
            return print(*map(lang._unwrap, args), **{key: lang._unwrap(value) for key, value in kwargs.items()})
        if name == "triton.language.aggregate_replace":
            return lang.aggregate_replace.__wrapped__(*args, **kwargs)
        if name == "triton.language.make_tensor_descriptor":
            args, kwargs = _with_known_strides(args, kwargs)
        return self.do(core.DO_CALL, "", (lang.Builtin(name), *args), kwargs)

    def attribute(self, value, name):
        if self.program.has_method(self._lower(value), name):
            return lambda *args, **kwargs: self.do(core.DO_METHOD, name, (value, *args), kwargs)
        try:
            found = self.do(core.DO_ATTRIBUTE, name, (value, ))
            return Shape(found) if type(found) is tuple else found
        except CompilationError as error:
            if error.kind != "NoSuchAttribute":
                raise
            raise NoSuchAttribute(error.text, error.diagnostics) from None

    # ---- a launch ----

    def arguments(self, function, given):
        """The value of each parameter; `given` is what the call gave, by name."""
        def value(bound, own):
            if bound is Ellipsis:
                return lang._unwrap(own)
            if isinstance(bound, tuple):
                parts = [value(*pair) for pair in zip(bound, own)]
                return type(own)(*parts) if hasattr(own, "_fields") else tuple(parts)
            return bound

        defaults = {p.name: p.default for p in function.params if p.has_default}
        return [value(bound, given.get(name, defaults.get(name)))
                for name, bound in zip(function.arg_names, self.program.arguments)]

    def run(self, function, arguments, grid):
        """All programs of the grid, axis 0 first."""
        body = body_of(function)
        positional = body.__code__.co_argcount  # the others are given by name only
        by_name = dict(zip(function.arg_names[positional:], arguments[positional:]))
        rest = by_name.pop(function.arg_names[function.rest_place]) if function.rest_place is not None else ()
        self.program.move((0, 0, 0), grid)  # which checks the grid
        outer, running.session = running.session, self
        try:
            for z in builtins.range(grid[2]):
                for y in builtins.range(grid[1]):
                    for x in builtins.range(grid[0]):
                        self.program.move((x, y, z), grid)
                        body(*arguments[:positional], *rest, **by_name)
        finally:
            running.session = outer


def _with_known_strides(args, kwargs):
    """A compile knows that an argument is 1, and asks that of a descriptor's last stride."""
    strides = kwargs.get("strides", args[2] if len(args) > 2 else None)
    strides = lang._unwrap(strides)
    if not isinstance(strides, (tuple, list)) or not strides or not isinstance(strides[-1], Tensor):
        return args, kwargs
    last = strides[-1]
    if last._held.shape or int(last) != 1:
        return args, kwargs
    strides = (*strides[:-1], 1)
    if "strides" in kwargs:
        return args, {**kwargs, "strides": strides}
    return (*args[:2], strides, *args[3:]), kwargs


def _constant(value):
    value = lang._unwrap(value)
    if isinstance(value, Tensor):
        raise TypeError(f"a bound of tl.static_range is a run-time value of type {value._held.type}\n  hint: declare it "
                        "`: tl.constexpr`, or use range")
    return value


def loop(arg1, arg2=None, step=None):
    """``for i in range(...)``: scalars of the type that the bounds have together."""
    session = _program()
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    lower, upper, step, runs_down = session.do(core.DO_RANGE, "", (start, stop, 1 if step is None else step))
    first, last, dtype = int(lower), int(upper), lower._held.dtype
    for i in builtins.range(first, last, int(step)):
        yield session.do(core.DO_TENSOR, "", (lang.TypedNumber(first + last - i if runs_down else i, dtype), ))


# ---- what statements call (rewrite.py) ---------------------------------------------------


def assigned(value, pattern):
    """A number that is assigned to a name is a value of the kernel from then on."""
    if pattern is None:
        return _program().do(core.DO_TENSOR, "", (value, )) if type(value) in (int, float, bool) else value
    if pattern is False:
        return value
    values = tuple(value)
    if len(values) != len(pattern):  # Python says what is wrong
        return values
    return tuple(assigned(part, of) for part, of in zip(values, pattern))


def range(function, *args, **kwargs):
    return loop(*args, **kwargs) if function is builtins.range else function(*args, **kwargs)


def logical(operator, *operands):
    stops_on, run_time, constant = operator == "or", None, None
    for operand in operands:
        value = operand()
        if isinstance(value, Tensor):
            constant = None
            run_time = value if run_time is None else _program().do(core.DO_LOGICAL, operator, (run_time, value))
        else:
            if bool(value) == stops_on:
                return value
            constant = value
    return constant if run_time is None else run_time


def negated(value):
    return _program().do(core.DO_UNARY, "not", (value, )) if isinstance(value, Tensor) else not value


def asserted(test, message):
    if isinstance(test, Tensor):
        _program().call_named("triton.language.device_assert", (test, str(message())), {})
    elif not test:
        raise AssertionError(message())


def python(function, *args, **kwargs):
    """A function of Python's that the language has too, where it is the one that the name means."""
    if function is builtins.isinstance and len(args) == 2:
        return _is_instance(*args)
    if function in (builtins.min, builtins.max) and any(isinstance(value, Tensor) for value in args):
        return _program().call_named(f"builtins.{function.__name__}", args, kwargs)
    if function is builtins.print and "hex" in kwargs:
        return _program().call_named("builtins.print", args, kwargs)
    return function(*args, **kwargs)


def _is_instance(value, kinds):
    kinds = kinds if isinstance(kinds, tuple) else getattr(kinds, "__args__", None) or (kinds, )  # of `a | b`
    is_ours = isinstance(value, _Value) or any(kind is not lang.tensor and lang.name_of(kind) for kind in kinds)
    if not is_ours:
        return isinstance(value, kinds)
    return any(_program().call_named("builtins.isinstance", (value, kind), {}) if lang.name_of(kind) or kind in _OF_PYTHON
               else isinstance(value, kind) for kind in kinds)


def body_of(function):
    """The Python function that runs a function of the language."""
    if function._body is None:
        path, text, line, column = function.source_text()
        function._body = rewritten(function.fn, text, line, column, sys.modules[__name__])
    return function._body
