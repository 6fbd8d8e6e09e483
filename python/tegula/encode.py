"""Python objects -> what the extension hands to the compiler: (kind, payload, flags)."""
import types

from . import _tegula as core
from .language import core as lang

# Objects that only Python knows, by handle. They stay: a compiled kernel may depend on them.
_opaque = {}


def object_of(handle):
    return _opaque[handle]


def _opaque_value(obj, flags):
    if isinstance(obj, (types.FunctionType, types.BuiltinFunctionType)):  # handle 0: of no use to a kernel
        return core.OPAQUE, (0, "a Python function without @triton.jit"), flags
    handle = id(obj)
    _opaque[handle] = obj
    if isinstance(obj, (int, float, str, tuple)):
        what = repr(obj)
    elif isinstance(obj, type):
        what = f"the class `{obj.__name__}`"
    else:
        what = f"a {type(obj).__name__}"
    return core.OPAQUE, (handle, what), flags


def encode(obj, flags=0):
    """The value of `obj` for the compiler. What it cannot know is opaque: a name with a repr."""
    if isinstance(obj, lang.constexpr):
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
        return core.STRING, str(obj), flags
    if isinstance(obj, lang.dtype):
        return core.DTYPE, obj._code, flags
    if isinstance(obj, core.Function):
        return core.FUNCTION, obj, flags
    if isinstance(getattr(obj, "fn", None), core.Function):  # autotuned, with heuristics
        return encode(obj.fn, flags)
    if isinstance(obj, (tuple, list)):
        # A tuple is a constant when its elements are.
        return core.TUPLE, tuple(encode(element) for element in obj), flags
    name = lang.name_of(obj)
    if name is not None:
        is_module = isinstance(obj, types.ModuleType)
        return core.MODULE if is_module else core.BUILTIN, name, flags
    return _opaque_value(obj, flags)


def dtype_code(dtype):
    """The code of a dtype of NumPy or PyTorch."""
    name = getattr(dtype, "name", None) or str(dtype).rsplit(".", 1)[-1]
    code = core.dtype_from_name(name)
    if code < 0:
        raise TypeError(f"an array of {name} cannot be a kernel's argument\n  hint: use bool, int8 ... int64, "
                        "uint8 ... uint64, float16, bfloat16, float32 or float64")
    return code
