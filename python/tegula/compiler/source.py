"""Says what is compiled: a function with the types of its arguments."""
import hashlib
import re

from .. import _tegula as core
from ..backends.compiler import Language
from ..encode import encode
from ..language import core as lang

_ALIGNED, _UNALIGNED = 16, 4  # addresses and numbers that stand for those of a launch
_ALIGNED_BITS = 128  # strides of descriptors
_REALS = ("fp", "bf", "f")


def _is_aligned(attributes):
    return any(name == "tt.divisibility" and value % 16 == 0 for name, value in attributes or ())


def _run_time(name, text, aligned):
    """The encoded value of a parameter that has a type."""
    if text.startswith("tensordesc"):
        return _descriptor(name, text, aligned)
    element = text.removeprefix("*").removeprefix("k") if text.startswith("*") else text
    code = core.dtype_from_name(element)
    if code < 0:
        raise ValueError(f"the signature says `{name}: {text}`, and there is no type `{element}`")
    if text.startswith("*"):
        return core.POINTER, (_ALIGNED if aligned else _UNALIGNED, code), 0
    if element.startswith(_REALS):
        return core.FLOAT, (0.5, code), core.TYPED
    is_bool = element in ("i1", "u1", "int1")
    return core.INT, (1 if is_bool else _ALIGNED if aligned else 3, code), core.TYPED


_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\](.*)>")
_PARTS = ("base", "shape", "strides", "block_shape", "padding", "multiple")  # TG_NAMED_TUPLE


def _descriptor(name, text, aligned):
    """The encoded value of a tensor descriptor: extents are i32, strides i64 and the last of them 1; `aligned`: all others are multiples
    of 16. TensorDescriptor checks that the base and strides are aligned as memory."""
    found = _DESCRIPTOR.fullmatch(text)
    if found is None:
        raise ValueError(f"the signature says `{name}: {text}`, which is no tensor descriptor\n"
                         "  hint: name the type of the elements and the block, `tensordesc<fp16[128, 64]>`")
    if found[3]:
        raise NotImplementedError(f"`{name}: {text}` names a layout of shared memory, which descriptors of triton.language have not\n"
                                  f"  hint: `tensordesc<{found[1]}[{found[2]}]>`")
    base = _run_time(name, f"*{found[1]}", aligned=True)
    block = tuple(int(extent) for extent in found[2].split(","))
    extents = tuple(_run_time(name, "i32", aligned) for _ in block)
    strides = (*(_run_time(name, "i64", aligned) for _ in block[1:]), encode(1))
    multiple = max(1, _ALIGNED_BITS // lang.dtype(found[1]).primitive_bitwidth)
    parts = (base, (core.TUPLE, extents, 0), (core.TUPLE, strides, 0), encode(lang.constexpr(block)), encode("zero"),
             encode(lang.constexpr(multiple)))
    kind = (encode("triton.language.tensor_descriptor"), (core.OPAQUE, (0, "a tensor descriptor"), 0), encode(False), *map(encode, _PARTS))
    return core.NAMED_TUPLE, ((core.CLASS, kind, 0), *parts), 0


class ASTSource:
    """A kernel with a type or a constant for each parameter: `signature` {name: "*fp32", "i32", "constexpr"},
    `constexprs` {name: value}, `attrs` {(index,): [["tt.divisibility", 16]]}. A tensor descriptor is "tensordesc<fp16[128, 64]>"; such
    attributes of one mean its extents and strides, and make its accesses wide. A tuple of types stands for a tuple, a NamedTuple of types
    for one of its class: paths in `constexprs` and `attrs` lead to elements."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.ext, self.name, self.language = fn, "ttir", fn.__name__, Language.TRITON
        self.signature = dict(signature)
        self.constants = {}
        for name in (*self.signature, *(constexprs or {})):
            if isinstance(name, str) and name not in fn.arg_names:
                raise ValueError(f"`{self.name}` has no parameter `{name}`\n  hint: its parameters: {', '.join(fn.arg_names)}")
        for key, value in (constexprs or {}).items():
            path = (fn.arg_names.index(key),) if isinstance(key, str) else key
            if not isinstance(path, tuple):
                raise TypeError(f"constexprs has the key {key!r}; a key is a name or a tuple of indices")
            self.constants[path] = value
        self.attrs = dict(attrs or {})
        for name in self.signature:
            if not isinstance(name, str):
                raise TypeError("the keys of a signature are names of parameters")

    def _described(self):
        """{name: encoded value}"""
        rows = {}
        for index, name in enumerate(self.fn.arg_names):
            kind = self.signature.get(name, "constexpr")
            if (index,) in self.constants:
                value = self.constants[(index,)]
                rows[name] = encode(value if isinstance(value, lang.constexpr) else lang.constexpr(value))
            elif kind != "constexpr":
                rows[name] = self._value(name, kind, (index,))
            elif self.fn.params[index].has_default:
                continue
            else:
                raise ValueError(f"parameter `{name}` of `{self.name}` has neither a type nor a constant\n"
                                 "  hint: name it in `signature` or in `constexprs`")
        return rows

    def _value(self, name, kind, path):
        if not isinstance(kind, (tuple, list)):
            return _run_time(name, kind, _is_aligned(self.attrs.get(path)))
        items = []
        for index, inner in enumerate(kind):
            place = (*path, index)
            items.append(encode(lang.constexpr(self.constants[place])) if place in self.constants
                         else self._value(name, inner, place))
        if hasattr(kind, "_fields"):
            return core.NAMED_TUPLE, (encode(type(kind)), *items), 0
        return core.TUPLE, tuple(items), 0

    def rows(self, options):
        """((name, encoded value), ...) of the parameters and of the options of a compile."""
        described = self._described()
        return tuple(described.items()) + tuple((name, encode(_pairs(value))) for name, value in options.items()
                                                if name not in described)

    def hash(self):
        def key(row):
            return repr(row[0])

        text = [self.fn.cache_key, *map(str, sorted(self.attrs.items(), key=key)), *map(str, self.signature.items())]
        text += [f"{path}={constant!r}" for path, constant in sorted(self.constants.items(), key=key)]
        return hashlib.sha256("-".join(text).encode()).hexdigest()

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """The kernel's operations, as code walks them that asks what a kernel writes."""
        from .._C.libtriton.ir import module_of

        return module_of(self, target, options)

    def parse_options(self):
        return {}


def _pairs(option):
    """A dict, as `extern_libs` is one, as the compiler takes it."""
    return tuple(option.items()) if isinstance(option, dict) else option


class IRSource:
    """A file with a stage of a compile."""

    def __init__(self, path, context=None, backend=None):
        raise NotImplementedError(f"{path}: stages of a compile are not read from files\n"
                                  "  hint: compile the kernel itself, triton.compile(ASTSource(fn, signature))")
