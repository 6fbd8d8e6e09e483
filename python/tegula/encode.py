"""Python objects -> what the extension hands to the compiler: (kind, payload, flags)."""
import array
import itertools
import types
import weakref

from . import _tegula as core
from .errors import LaunchError
from .language import core as lang
from .language.classes import tuple as lang_tuple
from .language.run_time import RUN_TIME

# Objects that only Python knows, by handle: a weak reference, or a function that returns an object which cannot
# have one; of such the last ones are kept. A handle is never given twice, so that a kernel compiled for an object
# is not found for another one.
_opaque = {}
_handles = {}  # id of a living object -> its handle
_kept = {}  # handle -> forget, in the order in which they came
_MOST_KEPT = 1024
_TAKES_VALUES = 1 << 61  # TG_TAKES_VALUES
_count = itertools.count(1)


def object_of(handle):
    return _opaque[handle & ~_TAKES_VALUES]()


def _handle_of(obj):
    key = id(obj)
    if key in _handles:
        return _handles[key]
    handle = next(_count)

    def forget(_):
        _opaque.pop(handle, None)
        _handles.pop(key, None)

    try:
        _opaque[handle] = weakref.ref(obj, forget)
    except TypeError:
        _opaque[handle] = lambda: obj
        _kept[handle] = forget
        while len(_kept) > _MOST_KEPT:
            _kept.pop(next(iter(_kept)))(None)
    _handles[key] = handle
    return handle


def _function_of(constant):
    """@tl.constexpr on a Python function: one that kernels call with constants."""
    from .runtime.jit import ConstexprFunction

    if getattr(getattr(constant, "_function", None), "fn", None) is not constant.value:
        constant._function = ConstexprFunction(constant.value)
    return constant._function


def takes_values(obj):
    """Says whether a Python function is called as a builtin of the language is: it has upstream's mark of one, or is a method of an
    aggregate that wants the `_semantic`."""
    return isinstance(obj, types.FunctionType) and (getattr(obj, "__triton_builtin__", False) or _has(obj, "_semantic"))


def _has(function, parameter):
    code = function.__code__
    return parameter in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def call_builtin(function, recording, arguments, keywords):
    """Calls a function that takes values; its `_semantic` and `_generator` are the recording."""
    own = {name: recording for name in ("_semantic", "_generator") if name == "_semantic" or _has(function, name)}
    return function(*map(_as_argument, arguments), **{name: _as_argument(value) for name, value in keywords.items()}, **own)


class _Values(lang_tuple):
    """A tuple of which not all elements are constants."""

    @property
    def value(self):
        return self


def _as_argument(value):
    """An argument of such a function: constants are tl.constexpr there."""
    if isinstance(value, RUN_TIME) or lang.is_aggregate(value):
        return value
    if type(value) in (tuple, list) and (not value or any(not isinstance(each, lang.constexpr) for each in map(_as_argument, value))):
        return _Values(map(_as_argument, value))
    return lang.constexpr(value)


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def _opaque_value(obj, flags, callable_too=False):
    if isinstance(obj, RUN_TIME):
        return core.OPAQUE, (obj.handle, obj.text), flags
    if takes_values(obj):
        return core.OPAQUE, (_handle_of(obj) | _TAKES_VALUES, f"the function `{obj.__name__}`"), flags
    is_function = isinstance(obj, _FUNCTIONS)
    if is_function and not callable_too and not flags & core.CONSTEXPR:  # handle 0: of no use to a kernel
        return core.OPAQUE, (0, "a Python function without @triton.jit"), flags
    handle = _handle_of(obj)
    if isinstance(obj, (int, float, str, tuple)):
        what = repr(obj)
    elif is_function:
        what = f"the Python function `{obj.__name__}`"
    elif isinstance(obj, type):
        what = f"the class `{obj.__name__}`"
    elif type(obj).__module__ == "torch" and type(obj).__name__ == "dtype":
        what = repr(obj)
    elif callable(obj) and type(obj).__module__ == "numpy" and isinstance(getattr(obj, "__name__", None), str):
        what = f"the Python function `{obj.__name__}`"
    elif hasattr(type(obj), "describes"):  # a constexpr_function, a method of a constant
        what = obj.describes()
        handle |= 0 if isinstance(obj, Method) else _TAKES_VALUES
    else:
        what = f"a {type(obj).__name__}"
    return core.OPAQUE, (handle, what), flags


def _of(obj, name):
    """An attribute; None where there is none, or asking for it fails."""
    try:
        return getattr(obj, name, None)
    except Exception:
        return None


def number_of(obj):
    """A scalar of NumPy as Python's number; None: it is none."""
    if type(obj).__module__ != "numpy" or getattr(obj, "ndim", None) != 0 or not hasattr(obj, "item"):
        return None
    number = obj.item()
    return number if isinstance(number, (bool, int, float)) else None


def fields_of(cls):
    """The names of the elements of a NamedTuple or an aggregate; None of another class."""
    return getattr(cls, "_fields", None)


def _class_value(cls, flags):
    is_aggregate = "__tegula_aggregate__" in vars(cls)
    head = (encode(cls.__name__), (core.OPAQUE, (_handle_of(cls), f"the class `{cls.__name__}`"), 0), encode(is_aggregate))
    return core.CLASS, (*head, *map(encode, fields_of(cls))), flags


def encode(obj, flags=0, callable_too=False):
    """The value of `obj` for the compiler. What it cannot know is opaque: a name with a repr. Within a compile, what
    can be changed in place is watched. A Python function is of use where `callable_too`: reached through a module."""
    if isinstance(obj, lang.constexpr):
        core.watch(core.WATCH_ATTRIBUTE, obj, "value", obj.value)
        if isinstance(obj.value, types.FunctionType) and not takes_values(obj.value):
            return _opaque_value(_function_of(obj), flags)
        return encode(obj.value, flags | core.CONSTEXPR)
    if obj is None:
        return core.NONE, None, flags
    if isinstance(obj, bool):
        return core.BOOL, obj, flags
    if isinstance(obj, int):
        return core.INT, int(obj), flags
    if isinstance(obj, float):
        return core.FLOAT, float(obj), flags
    if isinstance(obj, str):
        return core.STRING, str.__str__(obj), flags  # what an enumeration says of itself is not its text
    if isinstance(obj, lang.dtype) and obj._code is not None:
        return core.DTYPE, obj._code, flags
    if isinstance(obj, core.Function):
        return core.FUNCTION, obj, flags
    if isinstance(function := _of(obj, "fn"), core.Function):  # autotuned, with heuristics
        core.watch(core.WATCH_ATTRIBUTE, obj, "fn", function)
        return encode(function, flags)
    if isinstance(obj, (tuple, list)):
        if isinstance(obj, list):
            core.watch(core.WATCH_ELEMENTS, obj, None, tuple(obj))
        # A tuple is a constant when its elements are.
        elements = tuple(encode(element) for element in obj)
        if hasattr(obj, "_fields"):
            return core.NAMED_TUPLE, (encode(type(obj)), *elements), flags
        return core.TUPLE, elements, flags
    if isinstance(obj, type) and (issubclass(obj, tuple) or "__tegula_aggregate__" in vars(obj)) and fields_of(obj):
        return _class_value(obj, flags)
    if flags & core.CONSTEXPR and hasattr(type(obj), "__tegula_aggregate__"):
        return core.NAMED_TUPLE, (encode(type(obj)), *(encode(vars(obj)[name]) for name in fields_of(type(obj)))), flags
    if obj is NotImplemented:
        return core.BUILTIN, "builtins.NotImplemented", flags
    if isinstance(obj, lang.TypedNumber):
        return core.INT, (obj.value, obj.dtype), core.TYPED
    name = lang.name_of(obj)
    if name is not None:
        is_module = isinstance(obj, types.ModuleType)
        return core.MODULE if is_module else core.BUILTIN, name, flags
    number = number_of(obj)
    if number is not None:
        return encode(number, flags)
    return _opaque_value(obj, flags, callable_too)


_LONGEST_TEXT = 1 << 16  # as the library takes them
_BUFFERS = (memoryview, bytearray, array.array)
_NO_TENSORS = (str, int, float, type, types.ModuleType, types.FunctionType, lang.constexpr, lang.dtype, core.Function)


def encode_argument(obj):
    """The same for an argument of a launch; None of an object that stands for a tensor, though its class says nothing of it:
    one that passes all questions on (weakref.proxy), or has what a kernel asks for itself (SimpleNamespace)."""
    if isinstance(obj, _NO_TENSORS):
        if isinstance(obj, str) and len(obj.encode(errors="replace")) > _LONGEST_TEXT:
            raise LaunchError(f"a constant is a text of {len(obj)} characters; it may have {_LONGEST_TEXT} bytes")
        return encode(obj)
    if _stands_for_tensor(obj):
        return None
    if isinstance(obj, _BUFFERS):
        raise TypeError(f"a {type(obj).__name__} says no type that a kernel's argument could have\n"
                        "  hint: pass numpy.frombuffer(x, dtype) or torch.frombuffer(x, dtype=...)")
    if isinstance(_of(obj, "__cuda_array_interface__"), dict):
        raise TypeError(f"a {type(obj).__name__} is no tensor that a kernel takes\n"
                        "  hint: pass torch.as_tensor(x, device=\"cuda\"), which shares its memory")
    return encode(obj)


def _stands_for_tensor(obj):
    try:
        address = obj.data_ptr() if callable(obj.data_ptr) else None
        is_address = isinstance(address, int) and (address > 0 or address == 0 and obj.numel() == 0)
        return is_address and obj.dtype is not None
    except Exception:
        return False


def dtype_code(dtype):
    """The code of a dtype of NumPy or PyTorch."""
    name = getattr(dtype, "name", None) or str(dtype).rsplit(".", 1)[-1]
    code = core.dtype_from_name(name)
    if code >= 0 and lang.dtype(name).is_packed():
        raise TypeError(f"an array of {name} has a byte for each element, and pointers to {name} mean packed ones"
                        "\n  hint: pass the packed bytes as uint8, and cast: ptr.to(tl.pointer_type(...))")
    if code < 0:
        also = "; of complex numbers torch.view_as_real(x) or x.view(float)" if name.startswith("complex") else ""
        raise TypeError(f"an array of {name} cannot be a kernel's argument\n  hint: use bool, int8 ... int64, "
                        f"uint8 ... uint64, float16, bfloat16, float32 or float64{also}")
    return code


class Method:
    """A method of a number or a text that a kernel calls while it is compiled: `K.bit_length()`."""

    __slots__ = ("value", "name")

    def __init__(self, value, name):
        self.value, self.name = value, name

    def __call__(self, *args, **kwargs):
        return getattr(self.value, self.name)(*args, **kwargs)

    def describes(self):
        return f"`{self.name}` of {self.value!r}"


def encode_attribute(value, name):
    """An attribute of a number or a text, for the compiler; None: there is none, or it is Python's own affair."""
    found = None if name.startswith("_") else getattr(value, name, None)
    if callable(found):
        return encode(lang.constexpr(Method(value, name)))
    return None if found is None else encode(lang.constexpr(found))
