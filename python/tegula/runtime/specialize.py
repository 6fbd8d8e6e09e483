"""Says how an argument is seen by a compile: its type as signatures spell it, and whether 16 divides it."""
from collections import namedtuple

from .. import _tegula as core
from ..language import core as lang

_INT32, _INT64, _UINT64 = 1 << 31, 1 << 63, 1 << 64


def _int_type(value):
    if -_INT32 <= value < _INT32:
        return "i32"
    if -_INT64 <= value < _INT64:
        return "i64"
    if value < _UINT64:
        return "u64"
    raise OverflowError(f"the int {value} fits no type of a kernel's parameter")


def _element_type(dtype):
    from ..encode import dtype_code

    if isinstance(dtype, lang.dtype) and dtype._code is not None:
        return lang.short_name(dtype)
    return lang.short_name(lang.dtype(core.dtype_name(dtype_code(dtype))))


def _tuple_of(values, kind):
    return kind(*values) if hasattr(kind, "_fields") else tuple(values)


class Specialization(namedtuple("Specialization", "constants signature")):
    """A kernel's constants and types by parameter, as `repr` of `@triton.jit` sees them."""

    @classmethod
    def of(cls, rows):
        return cls({name: value for name, kind, value in rows if kind == "constexpr"},
                   {name: cls._kind(kind) for name, kind, _ in rows})

    @classmethod
    def _kind(cls, kind):
        """A type as upstream's signatures spell it: "i32", "*u8", "u1" of a bool."""
        if not isinstance(kind, str):
            return tuple(cls._kind(part) for _, part, _ in kind)
        return "u1" if kind == "int1" else kind.replace("uint", "u").replace("int", "i")


def native_specialize_impl(backend, arg, is_const, specialize_value, align):
    """(type, letters) of an argument: ("*fp32", "D"), ("i32", ""), ("constexpr", 1)."""
    if arg is None:
        return ("constexpr", None)
    if isinstance(arg, bool):
        return ("u1", None)
    if isinstance(arg, int):
        if arg == 1 and specialize_value:
            return ("constexpr", 1)
        return (_int_type(arg), "D" if specialize_value and align and arg % 16 == 0 else "" if specialize_value else None)
    if isinstance(arg, float):
        return ("fp32", None)
    if hasattr(arg, "data_ptr") and hasattr(arg, "dtype"):
        aligned = specialize_value and align and arg.data_ptr() % 16 == 0
        return (("*k" if is_const else "*") + _element_type(arg.dtype), "D" if aligned else "" if specialize_value else None)
    if isinstance(arg, lang.constexpr):
        return ("constexpr", arg.value)
    if isinstance(arg, core.Function):
        return ("constexpr", arg)
    if isinstance(arg, (tuple, list)):
        parts = [native_specialize_impl(backend, item, is_const, specialize_value, align) for item in arg]
        return tuple(_tuple_of([part[i] for part in parts], type(arg)) for i in range(2))
    if hasattr(arg, "base") and hasattr(arg, "block_shape"):
        return (f"tensordesc<{_element_type(arg.base.dtype)}{list(arg.block_shape)}>", None)
    if hasattr(arg, "__array_interface__"):
        return ("*" + _element_type(arg.dtype), "D" if arg.__array_interface__["data"][0] % 16 == 0 else "")
    if hasattr(arg, "__index__"):
        return native_specialize_impl(backend, arg.__index__(), is_const, specialize_value, align)
    raise TypeError(f"a {type(arg).__name__} cannot be a kernel's run-time argument")


def mangle_type(arg, specialize=False):
    """The type of an argument as signatures spell it."""
    return native_specialize_impl(None, arg, False, specialize, True)[0]


def describe(value):
    """Something hashable that is another one where a compile would be."""
    try:
        kind, letters = native_specialize_impl(None, value, False, True, True)
        return (str(kind), str(letters))
    except TypeError:
        return repr(value)


class DeviceCaches:
    """``kernel.device_caches[device]``: ({key: CompiledKernel}, {}, target, backend, None)."""

    def __init__(self, function):
        self._function = function

    def __getitem__(self, device):
        from ..compiler.compiler import make_backend
        from .driver import driver

        target = driver.active.get_current_target()
        kernels = {f"{id(kernel):064x}": kernel for kernel in core.kernels_of(self._function)}
        return kernels, {}, target, make_backend(target), None

    def _devices(self):
        return [0] if core.kernels_of(self._function) else []

    def __iter__(self):
        return iter(self._devices())

    def __len__(self):
        return len(self._devices())

    def keys(self):
        return self._devices()

    def values(self):
        return [self[device] for device in self._devices()]

    def items(self):
        return [(device, self[device]) for device in self._devices()]
