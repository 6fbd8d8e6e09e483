"""Shows what a compile made where the environment asks for it: stages as files, LLVM IR, PTX and times on the error stream."""
import hashlib
import sys

from .. import knobs
from ..errors import ToolchainError
from ..knob_types import getenv_bool
from .cache import get_dump_manager

# Upstream's names of the files, by those of the stages.
_SUFFIXES = {"simt": "ttgir", "llvm": "llir"}



def _print(kernel, title, text):
    print(f"// -----// {title} of {kernel.name} ({kernel.target}) //----- //\n{text}", file=sys.stderr, flush=True)


def _folder_key(kernel):
    """Of what is compiled, so that another process writes into the same folder."""
    return hashlib.sha256(f"{kernel.target} {kernel.arch} {kernel.n_max_threads}\n{kernel.asm['ttir']}".encode()).hexdigest()


def write_stages(kernel):
    """Writes each stage as NAME.STAGE into a folder of the kernel's own below knobs.cache.dump_dir."""
    folder = get_dump_manager(_folder_key(kernel))
    for stage in kernel.asm:
        try:
            folder.put(kernel.asm[stage], f"{kernel.name}.{_SUFFIXES.get(stage, stage)}")
        except ToolchainError:  # what only an assembler or a disassembler makes, where there is none
            continue


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
