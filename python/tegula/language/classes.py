"""Classes of the language as code on the host asks for them: in annotations, for `isinstance` and `issubclass`. The compiler
knows them by their names, and a call of one in a kernel is its own. The names are upstream's; some are Python's, too."""
import builtins

from .. import _tegula as _core
from . import core
from .core import PREFIX, CalledByPython, base_type, base_value, constexpr, dtype, running


def _named(cls):
    """A class that core.resolve finds; kernels can name it where the compiler lists it."""
    name = PREFIX + cls.__name__
    core._CLASSES[name] = cls
    if _core.language_name(name) is not None:
        core._NAMES[cls] = name
    return cls


class _OfTheLanguage:
    """A call of such a class, where Python runs a kernel, is the language's."""

    def __new__(cls, *args, **kwargs):
        name = core.name_of(cls)  # None of a subclass
        if running.session is not None and name is not None:
            return running.session.call_named(name, args, kwargs)
        return super().__new__(cls)


class _Composed(dtype):
    """A type that is made of others: it is no number's."""

    _code = None

    def __str__(self):
        return self.name

    __repr__ = __str__

    @property
    def primitive_bitwidth(self):
        raise AttributeError("primitive_bitwidth")

    def is_int(self):
        return False

    def is_packed(self):
        return False

    def kind(self):
        raise RuntimeError(f"{self.name} is neither of integers nor of floats")


class _Void(_Composed):
    """The type of no value."""

    name, primitive_bitwidth = "void", 0
    __repr__ = dtype.__repr__

    def __init__(self, name="void"):
        pass

    @staticmethod
    def is_void():
        return True

    def mangle(self):
        return "V"

    def __eq__(self, other):
        return isinstance(core._unwrap(other), _Void)

    def __hash__(self):
        return hash("void")


void = _Void()
core._CLASSES[f"{PREFIX}void"], core._NAMES[void] = void, f"{PREFIX}void"


@_named
class pointer_type(_Composed):
    """The type of a pointer, for annotations: ``x: tl.pointer_type(tl.float32)``."""

    def __init__(self, element_ty, address_space=1, const=False):
        self.element_ty, self.address_space, self.const = element_ty, address_space, const
        self.name = f"{'const_' if const else ''}pointer<{element_ty}>"

    def mangle(self):
        return f"P{self.element_ty.mangle()}"

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const

    def __eq__(self, other):
        other = core._unwrap(other)
        return isinstance(other, pointer_type) and self.element_ty == other.element_ty and self.const == other.const

    def __hash__(self):
        return hash(("pointer", self.element_ty, self.const))


@_named
class block_type(_OfTheLanguage, _Composed):
    """The type of a tile: its element type and its shape."""

    def __init__(self, element_ty, shape):
        shape = builtins.tuple(core._unwrap(extent) for extent in core._unwrap(shape))
        if not shape:
            raise TypeError("a block_type has at least one dimension\n  hint: the type of a scalar is its element type")
        self.element_ty, self.shape, self.numel = core._unwrap(element_ty), shape, 1
        for extent in shape:
            self.numel *= extent
        self.name = f"<{[str(extent) for extent in shape]}, {self.element_ty}>"

    @property
    def scalar(self):
        return self.element_ty

    @property
    def nbytes(self):
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def is_block(self):
        return True

    def mangle(self):
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    def get_block_shapes(self):
        return self.shape

    def with_element_ty(self, scalar_ty):
        """The type of a tile of this shape with other elements."""
        return block_type(scalar_ty, self.shape)

    def __eq__(self, other):
        other = core._unwrap(other)
        return isinstance(other, block_type) and self.element_ty == other.element_ty and self.shape == other.shape

    def __hash__(self):
        return hash(("block", self.element_ty, self.shape))


class _OnlyInKernels(_OfTheLanguage, base_value):
    """The base of values that kernels have and Python has not."""

    def __init__(self, *args, **kwargs):
        raise TypeError(f"a tl.{type(self).__name__} exists only inside a kernel")


@_named
class tensor_descriptor_base(_OnlyInKernels):
    """A descriptor of a tensor as kernels have it; extents and strides may be unknown."""


@_named
class tensor_descriptor(tensor_descriptor_base):
    """A descriptor of a tensor as kernels have it: `tl.make_tensor_descriptor` makes one. The host's are
    `triton.tools.tensor_descriptor.TensorDescriptor`."""


class _OfPythonsTuples(type):
    """The tuples of kernels are Python's where Python sees them."""

    def __instancecheck__(cls, value):
        return isinstance(value, builtins.tuple)


@_named
class tuple(builtins.tuple, base_value, metaclass=_OfPythonsTuples):
    """A tuple of values."""

    def __new__(cls, args=(), type=None):
        if running.session is not None and cls is tuple:
            return running.session.call_named(f"{PREFIX}tuple", (args, ), {})
        return builtins.tuple.__new__(cls, core._unwrap(args))

    @property
    def values(self):
        return list(self)

    @property
    def type(self):
        return tuple_type([getattr(core._unwrap(value), "type", type(value)) for value in self])


@_named
class slice(_OfTheLanguage):
    """A part of a sequence."""

    def __init__(self, start, stop, step=None):
        self.start, self.stop, self.step = start, stop, step


class _Loop(_OfTheLanguage, base_value):
    """Iterators of kernels. On the host one only says how a kernel would loop."""

    def __iter__(self):
        raise CalledByPython(f"`tl.{type(self).__name__}` loops only inside a kernel: a function decorated with @triton.jit")

    __next__ = __iter__

    def _take(self, arg1, arg2, step):
        self.start, self.end = (constexpr(0), arg1) if arg2 is None else (arg1, arg2)
        self.step = constexpr(1) if step is None else step


@_named
class range(_Loop):
    """Iterator of a `for` loop, with hints."""

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False,
                 flatten=False, warp_specialize=False, disable_licm=False):
        self._take(arg1, arg2, step)
        self.num_stages, self.loop_unroll_factor = num_stages, loop_unroll_factor
        self.disallow_acc_multi_buffer, self.flatten = disallow_acc_multi_buffer, flatten
        self.warp_specialize, self.disable_licm = warp_specialize, disable_licm


@_named
class static_range(_Loop):
    """Iterator of a `for` loop that is unrolled."""

    def __init__(self, arg1, arg2=None, step=None):
        self._take(arg1, arg2, step)


@_named
class condition(_OfTheLanguage, base_value):
    """The condition of a `while` loop, with hints."""

    def __init__(self, arg1, disable_licm=False):
        self.condition, self.disable_licm = arg1, disable_licm


class _TypeOfValues(_OfTheLanguage, base_type):
    """Types of values that are no tiles: equal where their parts are."""

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    __repr__ = __str__


@_named
class tuple_type(_TypeOfValues):
    """The type of a tuple: its elements' types, and their names in a NamedTuple."""

    def __init__(self, types, fields=None):
        self.types, self.fields = list(types), fields

    @property
    def name(self):
        names = [f"{field}:{kind}" for field, kind in zip(self.fields, self.types)] if self.fields else map(str, self.types)
        return f"[{','.join(names)}]"

    def mangle(self):
        return f"T{'_'.join(kind.mangle() for kind in self.types)}T"

    def __iter__(self):
        return iter(self.types)

    def __getitem__(self, index):
        return self.types[index]


@_named
class tensor_descriptor_base_type(_TypeOfValues):
    """The type of a descriptor: that of its tiles."""

    def __init__(self, block_type):
        self.block_type = block_type

    @property
    def name(self):
        return f"tensor_descriptor<{self.block_type}>"

    def mangle(self):
        return f"TD{self.block_type.mangle()}"


@_named
class tensor_descriptor_type(tensor_descriptor_base_type):
    """The type of a descriptor, with those of its extents and strides."""

    def __init__(self, block_type, shape_type, strides_type):
        super().__init__(block_type)
        self.shape_type, self.strides_type = shape_type, strides_type


for _base in (base_type, base_value):
    _named(_base)
