"""The two compilers of this build under the interface of ``BaseBackend``."""
import dataclasses
import hashlib

from .. import _tegula as core
from .compiler import BaseBackend, GPUTarget


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a compile, with their defaults."""
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    warp_size: int = 32
    maxnreg: int | None = None
    debug: bool = False
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    supported_fp8_dtypes: tuple = ("fp8e4b15", "fp8e4nv", "fp8e5")
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    extern_libs: tuple | None = None
    sanitize_overflow: bool = True
    backend_name: str = "cpu"
    arch: str | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    ir_override: str | None = None
    instrumentation_mode: str = ""

    def hash(self):
        return hashlib.sha256(repr(self).encode()).hexdigest()


_FIELDS = {field.name for field in dataclasses.fields(Options)}
# These describe a target, and are no options of a compile.
DESCRIPTIONS = {"warp_size", "backend_name", "arch", "allowed_dot_input_precisions", "supported_fp8_dtypes",
                "deprecated_fp8_dot_operand_dtypes"}
OBEYED = {*_FIELDS, "closed"} - DESCRIPTIONS


class _Backend(BaseBackend):

    def hash(self):
        return f"{core.version}-{self.target.backend}-{self.target.arch}"

    def parse_options(self, options):
        """An Options; names that are none of its fields are left out, as upstream leaves them to the caller."""
        given = {name: value for name, value in options.items() if name in _FIELDS and value is not None}
        given.setdefault("warp_size", self.target.warp_size)
        given.setdefault("arch", self._arch())
        return Options(**{**given, "backend_name": self.target.backend})

    def _arch(self):
        return f"sm{self.target.arch}" if self.target.backend == "cuda" else str(self.target.arch)

    def pack_metadata(self, metadata):
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options=None):
        """Functions that upstream's front end asks of a target; this front end asks none."""
        return {}

    def get_module_map(self):
        from ..language.extra import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context):
        """The compiler's context knows its operations from the start."""

    def add_stages(self, stages, options, language=None):
        raise NotImplementedError("the stages of a compile are not functions of Python here: read them from the asm "
                                  "of a CompiledKernel")


class GpuBackend(_Backend):
    """Compiles for GPUs."""
    binary_ext = "cubin"

    @staticmethod
    def supports_target(target):
        return target.backend == "cuda"


class CpuBackend(_Backend):
    """Compiles for the cores of this machine, or for the interpreter."""
    binary_ext = "obj"

    @staticmethod
    def supports_target(target):
        return target.backend == "cpu"


def target_name(target):
    """The name by which the compiler knows a GPUTarget: "sm_90a", "cpu"."""
    if target.backend != "cuda":
        return target.backend
    capability = str(target.arch).removeprefix("sm_").removeprefix("sm")
    return f"sm_{capability}a" if capability.isdigit() and int(capability) >= 90 else f"sm_{capability}"


def current_gpu_target(properties):
    major, minor = properties["capability"]
    return GPUTarget("cuda", major * 10 + minor, 32)
