"""Run-time values of the kernel that is being compiled, as Python functions see them that it calls: such a function may ask for
their types and shapes, pass them on and return them. Their elements are not known."""
import re

from .. import _tegula as _core
from .core import constexpr, dtype, tensor
from .classes import block_type, pointer_type, tensor_descriptor, tensor_descriptor_base_type

TILE = re.compile(r"<\[(.*)\], (.*)>")
POINTER = re.compile(r"(const_)?pointer<(.*)>")
_DESCRIPTOR = re.compile(r"tensor_descriptor<(.*)>")


def _type_of(text):
    """The type that the compiler spells so; None: it is one that Python has no class of."""
    if tile := TILE.fullmatch(text):
        element = _type_of(tile[2])
        return element and block_type(element, [int(extent) for extent in re.findall(r"\d+", tile[1])])
    if pointer := POINTER.fullmatch(text):
        element = _type_of(pointer[2])
        return element and pointer_type(element, const=bool(pointer[1]))
    code = _core.dtype_from_name(text)
    return dtype(text) if code >= 0 else None


OPERATORS = {"__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%", "__and__": "&",
             "__or__": "|", "__xor__": "^", "__lshift__": "<<", "__rshift__": ">>", "__lt__": "<", "__le__": "<=", "__gt__": ">",
             "__ge__": ">=", "__eq__": "==", "__ne__": "!="}
REFLECTED = {f"__r{name[2:]}": symbol for name, symbol in list(OPERATORS.items())[:10]}
UNARY = {"__neg__": "-", "__invert__": "~"}


class _Value:
    """`text` is the compiler's spelling of its type."""

    def __init__(self, handle, text):
        self.handle, self.text = handle, text

    def __repr__(self):
        return f"<a run-time value: {self.text}>"

    @property
    def number(self):
        """Its number among the run-time values of the call."""
        return self.handle & ~(1 << 62)  # TG_IS_RUN_TIME

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(tensor, name):
            from .recorded import method_of

            return method_of(self, name)
        raise AttributeError(f"`{name}` of a run-time value of type {self.text}: Python functions that a kernel calls may ask "
                             "for its dtype, type, shape and numel, of a descriptor for dtype, type, block_type and block_shape")

    def _refuse(self, *_):
        raise TypeError(f"a run-time value of type {self.text} is not known while the kernel is compiled; write the function "
                        "with @triton.jit")

    __bool__ = __int__ = __float__ = __index__ = __iter__ = __len__ = _refuse
    __hash__ = object.__hash__


def operator_method(name):
    """A method that is refused as an operator of Python, and recorded with a `_semantic`."""

    def operator(self, *others, _semantic=None):
        return self._refuse() if _semantic is None else _semantic.method(self, name, others, {})

    return operator


for _name in (*OPERATORS, *REFLECTED, *UNARY, "__getitem__"):
    setattr(_Value, _name, operator_method(_name))


class RunTimeValue(_Value, tensor):
    """A number, a pointer, a tile of either, or a tuple of those."""

    @property
    def type(self):
        found = _type_of(self.text)
        return found if found is not None else self.__getattr__("type")

    @property
    def dtype(self):
        return self.type.scalar

    @property
    def shape(self):
        return tuple(map(constexpr, getattr(self.type, "shape", ())))

    @property
    def numel(self):
        return constexpr(getattr(self.type, "numel", 1))


class RunTimeDescriptor(_Value, tensor_descriptor):
    """A tensor descriptor."""

    def __new__(cls, handle, text):
        return object.__new__(cls)

    @property
    def block_type(self):
        return _type_of(_DESCRIPTOR.fullmatch(self.text)[1])

    @property
    def type(self):
        return tensor_descriptor_base_type(self.block_type)

    @property
    def dtype(self):
        return self.block_type.element_ty

    @property
    def block_shape(self):
        return list(self.block_type.shape)


RUN_TIME = RunTimeValue, RunTimeDescriptor


def run_time(handle, text):
    """The value whose number among a call's arguments `handle` has."""
    return (RunTimeDescriptor if _DESCRIPTOR.fullmatch(text) else RunTimeValue)(handle, text)
