"""Shows what a compile made where the environment asks for it: stages as files, LLVM IR, PTX and times on the error stream."""
import hashlib
import sys
import warnings

from .. import knobs
from ..errors import CompilationError, ToolchainError
from ..knob_types import getenv_bool
from .cache import get_dump_manager, get_override_manager

# Upstream's names of the files, by those of the stages.
_SUFFIXES = {"simt": "ttgir", "llvm": "llir"}
_READ = ("ptx", "llir", "ttir")  # the stages from which a compile goes on, the latest first



def _print(kernel, title, text):
    print(f"// -----// {title} of {kernel.name} ({kernel.target}) //----- //\n{text}", file=sys.stderr, flush=True)


def folder_key(kernel):
    """Of what is compiled, so that another process writes into the same folder."""
    return hashlib.sha256(f"{kernel.target} {kernel.arch} {kernel.n_max_threads}\n{kernel.asm['ttir']}".encode()).hexdigest()


def write_stages(kernel):
    """Writes each stage as NAME.STAGE into a folder of the kernel's own below knobs.cache.dump_dir."""
    folder = get_dump_manager(folder_key(kernel))
    for stage in kernel.asm.all():
        try:
            folder.put(kernel.asm[stage], f"{kernel.name}.{_SUFFIXES.get(stage, stage)}")
        except (ToolchainError, CompilationError):  # what only an assembler or a disassembler makes, where there is none
            continue


def overriding_stage(kernel):
    """The path of the file that knobs.cache.override_dir has in the place of a stage of the kernel, the latest if there are
    several; None where it has none."""
    folder = get_override_manager(folder_key(kernel))
    for stage in _READ:
        if path := folder.get_file(f"{kernel.name}.{stage}"):
            print(f"\nOverriding kernel with file {path}")
            return path
    unread = [stage for stage in ("cubin", "sass", "ttgir", "nests", "asm", "obj") if folder.get_file(f"{kernel.name}.{stage}")]
    if unread:
        warnings.warn(f"the override folder of `{kernel.name}` has {kernel.name}.{unread[0]}; the compile goes on from "
                      ".ttir, .llir or .ptx", stacklevel=2)
    return None


def show(kernel):
    """Does for a kernel that is new to the process what the environment asks for."""
    if knobs.compilation.dump_ir:
        write_stages(kernel)
    if getenv_bool("TEGULA_PRINT_LLVM", getenv_bool("LLVM_IR_ENABLE_DUMP", False)) and "llir" in kernel.asm:
        _print(kernel, "LLVM IR", kernel.asm["llir"])
    if knobs.nvidia.dump_nvptx and "ptx" in kernel.asm:
        _print(kernel, "PTX", kernel.asm["ptx"])
    if getenv_bool("TEGULA_PRINT_TIMES", getenv_bool("MLIR_ENABLE_TIMING", False)):
        _print(kernel, "Times", "\n".join(f"{time:10.3f} ms  {step}" for step, time in kernel.times.items()))
