"""The names of the language as Python objects. Their meaning is the compiler's; here they have names,
so that kernels can be written, passed around and annotated."""
import enum
import functools
import importlib
import operator
import re
import sys
import threading
import types
import warnings

from .. import _tegula as _core

PREFIX = "triton.language."


class _Running(threading.local):
    """The programs that Python runs on this thread, operation by operation (runtime/eager.py)."""

    session = None


running = _Running()


class base_value:
    """A value of a kernel, of any kind."""


class base_type:
    """The type of a value."""

    def mangle(self):
        """A part of a name that says the type."""
        raise NotImplementedError(f"a {type(self).__name__} has no short name")


# Of the floats: bits of the mantissa, bias of the exponent.
_FLOAT_PARTS = {"fp8e4b15": (3, 15), "fp8e4nv": (3, 7), "fp8e4b8": (3, 8), "fp8e5": (2, 15), "fp8e5b16": (2, 16),
                "fp16": (10, 15), "bf16": (7, 127), "fp32": (23, 127), "fp64": (52, 1023), "fp4e2m1": (1, 1)}


class dtype(base_type):
    """An element type."""

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", *STANDARD_FP_TYPES]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __new__(cls, *args, **_):
        return super().__new__(type(resolve(f"{PREFIX}void")) if cls is dtype and args == ("void", ) else cls)

    def __init__(self, name):
        code = _core.dtype_from_name(name)
        if code < 0:
            raise ValueError(f"there is no dtype `{name}`")
        self._code = code
        self.name = _core.dtype_name(code)

    def __call__(self, value):
        """``tl.float32(x)`` in a kernel: x.to(tl.float32)."""
        if running.session is None:
            raise RuntimeError(f"`{self!r}(...)` is a cast in kernels: call it from a function with @triton.jit")
        return running.session.call_named(f"{PREFIX}cast", (value, self), {})

    @property
    def primitive_bitwidth(self):
        if self.is_bool():
            return 1
        return int(re.search("[0-9]+", self.name).group())

    @property
    def itemsize(self):
        return max(1, self.primitive_bitwidth // 8)

    def _int_bitwidth(self):
        if self.is_floating():
            raise AttributeError(f"{self.name} is no type of integers: it has no `int_bitwidth`")
        return self.primitive_bitwidth

    def _int_signedness(self):
        if self.is_floating():
            raise AttributeError(f"{self.name} is no type of integers: it has no `int_signedness`")
        return self.SIGNEDNESS.SIGNED if self.is_int_signed() else self.SIGNEDNESS.UNSIGNED

    def _float_part(self, name, index):
        if not self.is_floating():
            raise AttributeError(f"{self.name} is no type of floats: it has no `{name}`")
        return _FLOAT_PARTS[self.name][index]

    int_bitwidth, int_signedness = property(_int_bitwidth), property(_int_signedness)
    fp_mantissa_width = property(lambda self: self._float_part("fp_mantissa_width", 0))
    exponent_bias = property(lambda self: self._float_part("exponent_bias", 1))

    def kind(self):
        if self.is_bool():
            return self.KIND.BOOLEAN
        return self.KIND.FLOATING if self.is_floating() else self.KIND.INTEGRAL

    def get_int_max_value(self):
        """The largest number of a type of integers."""
        return 2 ** (self.int_bitwidth - self.is_int_signed()) - 1

    def get_int_min_value(self):
        return -2 ** (self.int_bitwidth - 1) if self.is_int_signed() else 0

    @staticmethod
    def is_dtype(name):
        """Does a type have this name?"""
        return name in dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES + dtype.OTHER_TYPES

    @staticmethod
    def is_void():
        return False

    @staticmethod
    def is_const():
        return False

    @property
    def scalar(self):
        return self

    def is_bool(self):
        return self.name == "int1"

    def is_packed(self):
        """Is it smaller than a byte, and packed in memory? No value has such a type."""
        return self.primitive_bitwidth < 8 and not self.is_bool()

    def is_floating(self):
        return self.name.startswith(("fp", "bf"))

    def is_standard_floating(self):
        return self.name in ("fp16", "bf16", "fp32", "fp64")

    def is_fp8(self):
        return self.name.startswith("fp8")

    def is_int(self):
        return not self.is_floating()

    def is_int_signed(self):
        return self.name.startswith("int") and not self.is_bool()

    def is_int_unsigned(self):
        return self.is_int() and not self.is_int_signed()

    def is_ptr(self):
        return False

    def is_block(self):
        return False

    def __getattr__(self, name):
        # is_fp32(), is_int8() ...
        if name.startswith("is_") and _core.dtype_from_name(name[3:]) >= 0:
            return lambda: self._code == _core.dtype_from_name(name[3:])
        if running.session is not None and not name.startswith("__"):
            return running.session.attribute(self, name)
        raise AttributeError(f"{type(self).__name__} has no attribute `{name}`")

    def __eq__(self, other):
        other = _unwrap(other)
        return isinstance(other, dtype) and self._code == other._code

    def __hash__(self):
        return hash(("dtype", self._code))

    def __str__(self):
        return self.name

    def __repr__(self):
        return PREFIX + self.codegen_name()

    def codegen_name(self):
        """The name in triton.language: float32 of fp32."""
        long = {"fp": "float", "bf": "bfloat"}.get(self.name[:2])
        return self.name if long is None else long + self.name[2:]

    @property
    def cache_key_part(self):
        return self.name

    def mangle(self):
        """A part of a name that says the type: i32, u1, fp16."""
        return self.name if self.is_floating() else f"{'i' if self.is_int_signed() else 'u'}{self.int_bitwidth}"


def short_name(of):
    """As signatures spell a type: i32, u8, fp32."""
    return of.name.replace("uint", "u").replace("int", "i")


class _WithMethods(type):
    """``tl.tensor.sum(x)``: methods of run-time values as functions of their class."""

    def __getattr__(cls, name):
        found = getattr(sys.modules[__package__], "cast" if name == "to" else name, None)
        found = resolve(PREFIX + name) if name == "cdiv" else found  # a function of Python, too
        if name.startswith("_") or not isinstance(found, Builtin):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return found

    def __dir__(cls):
        return sorted({*super().__dir__(), *_core.language_names(f"{PREFIX}tensor"), "to"})


class tensor(base_value, metaclass=_WithMethods):
    """A value of a running kernel; a name for annotations."""

    def __init__(self, *args, **kwargs):
        raise TypeError("a tl.tensor exists only inside a kernel")


class constexpr_type(base_type):
    """The type of a constant."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash((constexpr_type, self.value))

    def __repr__(self):
        return f"constexpr_type[{self.value}]"

    mangle = __repr__


class TypedNumber:
    """An int of a type, whose code `dtype` is."""

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype


class const:
    """Annotation of a pointer that is only read."""


class constexpr(base_value):
    """A value known when a kernel is compiled. Arithmetic on them is Python's."""

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value

    def __repr__(self):
        return f"constexpr[{self.value!r}]"

    def __hash__(self):
        return hash((constexpr, self.value))

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return self.value.__index__()

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return iter(self.value)

    def __getitem__(self, index):
        return self.value[_unwrap(index)]

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)


def _unwrap(value):
    return value.value if isinstance(value, constexpr) else value


def is_aggregate(value):
    """Is it an object of a class with @triton.aggregate? Its operators go before those of tiles and numbers."""
    return hasattr(type(value), "__tegula_aggregate__")


def _add_operators():
    import operator

    def binary(function):
        return lambda self, other: NotImplemented if isinstance(other, tensor) or is_aggregate(other) else constexpr(
            function(self.value, _unwrap(other)))

    def reflected(function):
        return lambda self, other: constexpr(function(_unwrap(other), self.value))

    def unary(function):
        return lambda self: constexpr(function(self.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
        function = getattr(operator, name)
        setattr(constexpr, f"__{name.strip('_')}__", binary(function))
        setattr(constexpr, f"__r{name.strip('_')}__", reflected(function))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(constexpr, f"__{name}__", binary(getattr(operator, name)))
    for name in ("neg", "pos", "invert"):
        setattr(constexpr, f"__{name}__", unary(getattr(operator, name)))


_add_operators()


class CalledByPython(RuntimeError, ValueError):
    """A function of the language was called outside of a kernel. Upstream raises the one or the other, depending on the
    function."""


class Builtin:
    """A function of the language. Kernels call it; Python cannot, but where it runs a kernel."""

    def __init__(self, name):
        self._name = name
        self.__name__ = name.rsplit(".", 1)[-1]

    def __call__(self, *args, _semantic=None, **kwargs):
        if hasattr(_semantic, "named"):  # language/recorded.py
            return _semantic.named(self._name, args, kwargs)
        if running.session is not None:
            return running.session.call_named(self._name, args, kwargs)
        raise CalledByPython(f"`{self._name.replace(PREFIX, 'tl.')}` has a meaning only inside a kernel: a function "
                           "decorated with @triton.jit, called as kernel[grid](...)")

    def __repr__(self):
        return f"<{self._name}>"


def must_use_result(fn, is_checked=True):
    """Marks a @triton.jit function whose call may not stand alone as a statement; a text says why. The compiler reads the
    decorator."""
    return fn if callable(fn) else lambda function: function


_CLASSES = {}  # of classes.py, by their canonical names
_NAMES = {kind: PREFIX + kind.__name__ for kind in (const, constexpr, dtype, tensor)}  # of classes and host functions


def host_function(name):
    """Marks a function that works in Python and in kernels, where it is the builtin `name`."""

    def decorate(function):

        @functools.wraps(function)
        def called(*args, **kwargs):
            if running.session is not None:
                return running.session.call_named(name, args, kwargs)
            return function(*args, **kwargs)

        _NAMES[called] = name
        return called

    return decorate


@host_function("triton.cdiv")
def cdiv(x, y):
    """Ceiling division of ints."""
    return (_unwrap(x) + _unwrap(y) - 1) // _unwrap(y)


@host_function("triton.next_power_of_2")
def next_power_of_2(n):
    """The smallest power of two that is at least `n`; 1 below 1, as upstream has it for 1 (0 gives 0)."""
    n = operator.index(_unwrap(n))
    return 1 << (n - 1).bit_length() if n > 0 else 0


@host_function("triton.language.get_int_dtype")
def get_int_dtype(bitwidth, signed):
    """The integer type of so many bits."""
    bitwidth, signed = _unwrap(bitwidth), _unwrap(signed)
    if bitwidth == 1:
        return dtype("int1")
    if bitwidth not in (8, 16, 32, 64):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype(f"{'int' if signed else 'uint'}{bitwidth}")


@host_function("triton.language._log2")
def _log2(i):
    """The logarithm to base 2 of a power of two."""
    return constexpr(_unwrap(i).bit_length() - 1)


CONSTEXPR_0 = constexpr(0)
TRITON_MAX_TENSOR_NUMEL = 1048576
TRITON_BUILTIN = "__triton_builtin__"


def builtin(fn):
    """Marks a Python function that kernels call while they are compiled, with tl.constexpr for constants and opaque
    run-time values. It returns a constant, one of the values, or what functions of the language give that it called with
    ``_semantic=_semantic`` (recorded.py)."""
    setattr(fn, TRITON_BUILTIN, True)
    return fn


def extern(fn):
    """Marks a Python function that calls one of a device library: `extern_elementwise`."""
    setattr(fn, "__triton_extern__", True)
    return builtin(fn)


def is_negative_zero(x):
    return x == 0.0 and str(x).startswith("-")


def warn(message):
    warnings.warn(message, stacklevel=2)


def is_builtin(fn):
    """Says whether it is a function of the language, or one of Python's that is marked as one."""
    return isinstance(fn, Builtin) or getattr(fn, TRITON_BUILTIN, False) is True


@host_function("triton.language._unwrap_if_constexpr")
def _unwrap_if_constexpr(value):
    """The value of a constant, and of the constants in a tuple or list."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_unwrap_if_constexpr(item) for item in value)
    return _unwrap(value)


def _unwrap_shape(shape):
    """The extents of a shape, as numbers; for functions that Python runs as builtins."""
    return [_unwrap(extent) for extent in _unwrap(shape)]


def _unwrap_iterable(values):
    """The only one of the values where that is a sequence: what `x.reshape(4, 8)` and `x.reshape((4, 8))` have in common."""
    return values[0] if len(values) == 1 and hasattr(_unwrap(values[0]), "__iter__") else values


def _shape_check_impl(shape):
    """The extents of a shape that upstream takes: powers of two."""
    from .._utils import validate_block_shape

    shape = _unwrap_shape(shape)
    validate_block_shape(shape)
    return shape


def check_bit_width(value, shift_value):
    """Warns where a constant shifts a value by as many bits as it has, or more."""
    if isinstance(value, tensor) and isinstance(shift_value, constexpr) and shift_value.value >= value.dtype.primitive_bitwidth:
        warn(f"a value of {value.dtype}, which has {value.dtype.primitive_bitwidth} bits, is shifted by {shift_value.value}")


def get_primitive_bitwidth(of):
    return dtype(of).primitive_bitwidth if isinstance(of, str) else of.primitive_bitwidth


def name_of(obj):
    """The canonical dotted name of a builtin, a class or a module of the language; else None."""
    if isinstance(obj, Builtin):
        return obj._name
    if isinstance(obj, types.ModuleType):
        name = obj.__name__
        if name == "math":
            return "math"
        if name == __name__:
            return PREFIX[:-1]
        if name == "tegula" or name.startswith("tegula."):
            return "triton" + name[len("tegula"):]
        return None
    try:
        return _NAMES.get(obj)
    except TypeError:  # not hashable
        return None


def _module(dotted):
    """The module of this package that has an upstream name."""
    try:
        return importlib.import_module("tegula" + dotted.removeprefix("triton")) if dotted.startswith("triton") else None
    except ImportError:
        return None


def resolve(dotted):
    """The Python object of a canonical name; None where the language has no such name."""
    if dotted in _CLASSES:
        return _CLASSES[dotted]
    answer = _core.language_name(dotted)
    if answer is None or answer[0] == _core.MODULE:
        return _module(dotted)
    kind, code = answer
    if kind == _core.DTYPE:
        return dtype(_core.dtype_name(code))
    return Builtin(dotted)


def module_getattr(canonical, own):
    """The __getattr__ of a module whose names the compiler lists; `own` are its globals, and get a `__dir__` with these names.
    A star import takes the names of the compiler, and of its own those that are no modules but `math` and `extra`."""
    cache = {}

    def __getattr__(name):
        if name == "__all__":
            mine = {name for name, value in own.items()
                    if not name.startswith("_") and (not isinstance(value, types.ModuleType) or name in ("math", "extra"))}
            return sorted(mine.union(_core.language_names(canonical)))
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in cache:
            found = resolve(f"{canonical}.{name}")
            if found is None:
                raise AttributeError(f"the language has no `{canonical.replace('triton.language', 'tl')}.{name}`")
            cache[name] = found
        return cache[name]

    def __dir__():
        classes = [name.removeprefix(PREFIX) for name in _CLASSES] if canonical == PREFIX[:-1] else []
        return sorted({*own, *classes, *_core.language_names(canonical)})

    own["__dir__"] = __dir__
    return __getattr__


from .extern import dispatch, extern_elementwise  # noqa: E402,F401
from .classes import block_type, pointer_type  # noqa: E402,F401 they need the names above

__getattr__ = module_getattr("triton.language", globals())


from .aggregate import _aggregate, aggregate_replace  # it needs the names above
