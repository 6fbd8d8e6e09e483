"""``triton._utils``: paths into nested tuples, and names of types."""
from . import _tegula as core
from .language import core as lang

TRITON_MAX_TENSOR_NUMEL = 1048576


def get_iterable_path(iterable, path):
    """iterable[path[0]][path[1]]..."""
    for index in path:
        iterable = iterable[index]
    return iterable


def set_iterable_path(iterable, path, val):
    get_iterable_path(iterable, path[:-1])[path[-1]] = val


def find_paths_if(iterable, pred):
    """The paths of the leaves of nested tuples and lists for which `pred(path, leaf)` holds."""
    found = []

    def walk(value, path):
        if isinstance(value, (tuple, list)):
            for index, item in enumerate(value):
                walk(item, (*path, index))
        elif pred(path, value):
            found.append(path)

    walk(iterable if isinstance(iterable, (tuple, list)) else list(iterable), ())
    return found


def is_power_of_two(x):
    return x > 0 and (x & (x - 1)) == 0


def is_namedtuple(val):
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")


def validate_block_shape(shape):
    """The number of elements of a tile of this shape. Raises where there can be none."""
    elements = 1
    for index, extent in enumerate(shape):
        if not isinstance(extent, int):
            raise TypeError(f"Shape element {index} must have type `constexpr[int]`, got `constexpr[{type(extent)}]")
        if not is_power_of_two(extent):
            raise ValueError(f"Shape element {index} must be a power of 2")
        elements *= extent
    if elements > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({elements}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return elements


def canonicalize_dtype(dtype):
    """A dtype of PyTorch, NumPy or the language as signatures spell it: "fp32"."""
    from .runtime.specialize import _element_type

    return _element_type(dtype)


def canonicalize_ptr_dtype(dtype, is_const):
    return ("*k" if is_const else "*") + canonicalize_dtype(dtype)


def get_primitive_bitwidth(dtype):
    """Bits of an element type by its name in signatures."""
    if core.dtype_from_name(dtype) < 0:
        raise KeyError(dtype)
    return lang.dtype(dtype).primitive_bitwidth


type_canonicalisation_dict = {name: lang.short_name(lang.dtype(name)) for name in (
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "fp16", "bf16", "fp32", "fp64", "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")}
type_canonicalisation_dict["bool"] = "i1"
BITWIDTH_DICT = {name: lang.dtype(name).primitive_bitwidth for name in set(type_canonicalisation_dict.values())}
