"""``tl.target_info``: which machine a kernel is compiled for, as constants for kernels and for Python."""
from ..runtime.driver import driver
from ..runtime.jit import constexpr_function


def current_target():
    """The GPUTarget that launches go to."""
    return driver.active.get_current_target()


@constexpr_function
def is_cuda():
    return current_target().backend == "cuda"


@constexpr_function
def cuda_capability_geq(major, minor=0):
    """Says whether it is a GPU of this capability or above."""
    target = current_target()
    return target.backend == "cuda" and target.arch >= major * 10 + minor


def _of_another_vendor(name, answer):
    """A question about a vendor's GPUs for which nothing is compiled: the answer is that of every other machine."""

    def asked():
        return answer

    asked.__name__ = asked.__qualname__ = name
    return constexpr_function(asked)


_ANSWERS = {
    **dict.fromkeys("""is_hip is_hip_cdna is_hip_cdna2 is_hip_cdna3 is_hip_cdna3_or_newer is_hip_cdna4 is_hip_gfx1250
        is_hip_rdna is_hip_rdna3 is_hip_rdna4 hip_supports_bf16xX hip_supports_cast_inf_clamping hip_supports_descriptor_scatter
        hip_supports_f8e4m3 hip_supports_f8e4m3fn_cast hip_supports_f8e4nv hip_supports_f8e5 hip_supports_float8_uz
        hip_supports_kpack hip_supports_mn_pack_scales hip_supports_mxfp_dot hip_supports_scaled_dot
        hip_supports_vdot""".split(), False),
    "get_cdna_version": -1, "get_hip_lds_size": 0, "get_rdna_version": -1, "hip_wmma_version": 0,
}


def __getattr__(name):
    if name not in _ANSWERS:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    globals()[name] = _of_another_vendor(name, _ANSWERS[name])
    return globals()[name]


__all__ = ["cuda_capability_geq", "current_target", "is_cuda", *_ANSWERS]
