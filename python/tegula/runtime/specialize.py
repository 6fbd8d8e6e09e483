"""Says how an argument is seen by a compile: its type as signatures spell it, and whether 16 divides it."""
from collections import namedtuple

from .. import _tegula as core
from ..language import core as lang
from . import descriptors

_INT32, _INT64, _UINT64 = 1 << 31, 1 << 63, 1 << 64


def _int_type(value):
    if -_INT32 <= value < _INT32:
        return "i32"
    if -_INT64 <= value < _INT64:
        return "i64"
    if 0 <= value < _UINT64:
        return "u64"
    raise OverflowError(f"the int {value} fits no type of a kernel's parameter")


def _element_type(dtype):
    from ..encode import dtype_code

    if isinstance(dtype, lang.dtype) and dtype._code is not None:
        return lang.short_name(dtype)
    return lang.short_name(lang.dtype(core.dtype_name(dtype_code(dtype))))


def _tuple_of(values, kind):
    return kind._make(values) if hasattr(kind, "_fields") else tuple(values)


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


_CONSTANT_ELEMENTS = (str, lang.dtype)  # within a tuple, where no parameter says that it is constexpr


def native_specialize_impl(backend, arg, is_const, specialize_value, align):
    """(type, letters) of an argument, which are upstream's: ("*fp32", "D"), ("i32", ""), ("constexpr", 1). A launch tells numbers that 8
    divides apart as well (src/jit/Arguments.h); there is no letter for them."""
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
        parts = [("constexpr", item) if isinstance(item, _CONSTANT_ELEMENTS) else
                 native_specialize_impl(backend, item, is_const, specialize_value, align) for item in arg]
        return tuple(_tuple_of([part[i] for part in parts], type(arg)) for i in range(2))
    if hasattr(arg, "base") and hasattr(arg, "block_shape"):
        return (f"tensordesc<{_element_type(arg.base.dtype)}{list(arg.block_shape)}>", None)
    from ..encode import number_of

    # NumPy's scalars have the protocol of arrays too, and cannot be assigned to.
    if not hasattr(arg, "__setitem__") and (number := number_of(arg)) is not None:
        return native_specialize_impl(backend, number, is_const, specialize_value, align)
    if hasattr(arg, "__array_interface__"):
        return ("*" + _element_type(arg.dtype), "D" if arg.__array_interface__["data"][0] % 16 == 0 else "")
    if hasattr(arg, "__index__"):
        return native_specialize_impl(backend, arg.__index__(), is_const, specialize_value, align)
    raise TypeError(f"a {type(arg).__name__} cannot be a kernel's run-time argument")


def mangle_type(arg, specialize=False):
    """The type of an argument as signatures spell it."""
    return native_specialize_impl(None, arg, False, specialize, True)[0]


_PLAIN = (int, float, complex, str, bytes, type(None), lang.dtype)


def _exactly(value):
    """Something hashable that no other value has, nor one of another type: 1, True and 1.0 are three."""
    if isinstance(value, lang.constexpr):
        return "constexpr", _exactly(value.value)
    if isinstance(value, (tuple, list)):
        return type(value), *map(_exactly, value)
    if isinstance(value, dict):
        return type(value), *((_exactly(key), _exactly(part)) for key, part in value.items())
    return (type(value), repr(value)) if isinstance(value, _PLAIN) else (type(value), id(value))


def _as_run_time(value):
    """The same of a run-time argument: arrays of a type and numbers of a kind are alike."""
    if isinstance(value, (tuple, list)):
        return type(value), *map(_as_run_time, value)
    is_array = hasattr(value, "dtype") and (hasattr(value, "data_ptr") or hasattr(value, "__array_interface__"))
    if is_array or isinstance(value, (int, float)):
        try:
            return *map(str, native_specialize_impl(None, value, False, True, True)), str(getattr(value, "device", ""))
        except TypeError:
            pass
    return _exactly(value)


def call_key(function, args, kwargs):
    """Something hashable that is another one where a compile for these arguments and options would be. Objects in it are
    known by their addresses: it holds as long as they live."""
    params = {parameter.name: parameter for parameter in function.params}
    given = [*function.by_name(args).items(), *sorted(kwargs.items())]
    rows = [(name, _as_run_time(value) if name in params and not params[name].is_constexpr else _exactly(value))
            for name, value in given]
    return function.cache_key, function.target, len(args), *rows


class _Kernels(dict):
    """The kernels of a function by a text each. What is taken out is forgotten by the function."""

    def __init__(self, owners):
        super().__init__((f"{id(kernel):064x}", kernel) for owner in owners for kernel in core.kernels_of(owner))
        self._owners = owners

    def _forget(self, kernel):
        for owner in self._owners:
            core.forget(owner, kernel)
        self._owners[0].__dict__.pop("_told", None)

    def __delitem__(self, key):
        self._forget(self[key])
        super().__delitem__(key)

    def pop(self, key, *default):
        if key in self:
            self._forget(self[key])
        return super().pop(key, *default)

    def clear(self):
        self._forget(None)
        super().clear()


class DeviceCaches:
    """``kernel.device_caches[device]``: ({key: CompiledKernel}, {}, target, backend, binder), the kernels as far as launches made
    them. A device that is taken out, or given kernels anew, forgets those that it had: hooks are told of their next compile."""

    def __init__(self, function):
        self._function = function

    def _kernels(self):
        return _Kernels([self._function, *descriptors.made_for(self._function)])

    def __getitem__(self, device):
        made = self._function.create_binder()
        return self._kernels(), *made[1:]

    def get(self, device, default=None):
        return self[device] if device in self else default

    def clear(self):
        self._kernels().clear()

    def pop(self, device, *default):
        if device not in self:
            if not default:
                raise KeyError(device)
            return default[0]
        found = self[device]
        kept = (dict(found[0]), *found[1:])
        found[0].clear()
        return kept

    def __delitem__(self, device):
        self.pop(device)

    def __setitem__(self, device, caches):
        stays = list(caches[0].values())
        kernels = self._kernels()
        for key in [key for key, kernel in kernels.items() if not any(kernel is other for other in stays)]:
            del kernels[key]

    def __contains__(self, device):
        return device in self._devices()

    def _devices(self):
        return [0] if self._kernels() else []

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
