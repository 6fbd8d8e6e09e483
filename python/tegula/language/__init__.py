"""``import tegula.language as tl``. Types, constexpr and host functions are here; every other name is a
builtin that the compiler lists."""
from . import core
from .core import (TRITON_MAX_TENSOR_NUMEL, aggregate_replace, cdiv, const, constexpr, constexpr_type, dtype,
                   next_power_of_2, pointer_type, tensor)

for _name in ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
              "float32", "float64", "float8e5", "float8e4nv", "float8e4b8", "float8e5b16", "float8e4b15", "int2", "int3",
              "int4", "int5", "int6", "int7", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7", "float4e2m1"):
    globals()[_name] = dtype(_name)
pi32_t, void = pointer_type(int32), core.void  # noqa: F821

from . import extra, math, random, semantic, standard  # noqa: E402


class PropagateNan:
    """What maximum and minimum do with NaN."""
    NONE = core.Builtin("triton.language.PropagateNan.NONE")
    ALL = core.Builtin("triton.language.PropagateNan.ALL")


def str_to_ty(name):
    """The type of a signature: ``*fp32``, ``i32``."""
    return pointer_type(str_to_ty(name[1:])) if name.startswith("*") else dtype(name)


core.PropagateNan, core.str_to_ty, core.pi32_t = PropagateNan, str_to_ty, pi32_t  # scripts ask both modules
__getattr__ = core.module_getattr("triton.language", globals())
