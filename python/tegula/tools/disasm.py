"""``triton.tools.disasm``: a cubin as the instructions of its machine, through the vendor's disassembler."""
import functools
import re
import subprocess
import tempfile

from .. import knobs


def path_to_cuobjdump():
    return knobs.nvidia.cuobjdump.path


def path_to_nvdisasm():
    return knobs.nvidia.nvdisasm.path


def extract(file_path, fun):
    """The instructions of a cubin in a file: of one function, or of all."""
    command = [path_to_cuobjdump(), *(["-fun", fun] if fun else []), "-sass", file_path]
    text = subprocess.check_output(command).decode()
    lines = []
    for line in text.splitlines():
        if name := re.search(r"Function : (\S+)", line):
            lines.append(f"Function:{name[1]}")
        elif instruction := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?;)", line):
            lines.append(f"/*{instruction[1]}*/\t{instruction[2]}")
    return "\n".join(lines) + "\n"


@functools.lru_cache
def get_sass(cubin_asm, fun=None):
    """The instructions of a cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin_asm)
        file.flush()
        return extract(file.name, fun)
