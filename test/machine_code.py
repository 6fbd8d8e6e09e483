"""Machine code of sm_90a (`tegula compile --emit sass`), and whether it leaves the registers of products under way alone.

A product of several warps (`HGMMA` and its kind) reads its first factor from registers, and writes its sums, while the warps go on. Between its
start and the wait that covers it (`WARPGROUP.DEPBAR`) no other instruction may touch the sums, and none may write the factor. The assembler sees
to that, in waits of its own or in choosing registers; where it did not, results were wrong on GPUs alone (decision 17).
"""
import importlib.metadata
import os
import re
import subprocess

import pytest


def tools():
    """The environment in which the compiler finds the disassembler."""
    files = importlib.metadata.files("nvidia-cuda-nvdisasm") or []
    folder = next(file.locate().parent for file in files if file.name == "nvdisasm")
    return {**os.environ, "TEGULA_TOOLS": os.pathsep.join(filter(None, [str(folder), os.environ.get("TEGULA_TOOLS")]))}


def of_kernel(build_dir, kernel, signature, *options, arch="sm_90a"):
    """The machine code of `FILE.py::KERNEL`; skips the test where there is no assembler."""
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", kernel, "--signature", signature, "--target", arch, "--emit", "sass", *map(str, options)],
                          capture_output=True, text=True, timeout=120, env=tools())
    if "TEGULA_PTXAS" in done.stderr:
        pytest.skip(f"there is no assembler here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def instructions(text):
    """The instructions in order, and of each label the number of the one behind it."""
    code, labels = [], {}
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(instruction[1].strip())
    return code, labels


def without_guard(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction)


def registers(text):
    """[(registers, is it the first operand?)] of an instruction that is no product."""
    opcode = text.split()[0]
    wide = 4 if ".128" in opcode else 2 if ".64" in opcode or "WIDE" in opcode else 1
    found = []
    for order, match in enumerate(re.finditer(r"(?<![U\w])R(\d+)\b", text)):
        is_address = text[:match.start()].count("[") > text[:match.start()].count("]")
        is_data = not is_address and not opcode.startswith("LDGSTS") and (order == 0 or opcode.startswith("ST"))
        count = 2 if text[match.end():].startswith(".64") else wide if is_data else 1
        found.append((frozenset(range(int(match[1]), int(match[1]) + count)), order == 0))
    return found


def product(text):
    """The registers of a product's sums and of its first factor, and whether a group ends with it."""
    opcode, rest = text.split(maxsplit=1)
    columns = int(re.match(r"\w+\.\d+x(\d+)x\d+", opcode)[1])
    operands = [operand.strip() for operand in rest.split(",")]
    sums, factor = (re.match(r"R(\d+)", operand) for operand in operands[:2])  # RZ: nobody needs the sums
    count = columns // (4 if ".F16" in opcode and ".F32" not in opcode else 2)
    return (frozenset(range(int(sums[1]), int(sums[1]) + count)) if sums else frozenset(), frozenset(range(int(factor[1]), int(factor[1]) + 4)) if factor else frozenset(), "gsb0" in rest)


NOT_WRITING = ("ST", "RED", "ATOM", "BAR", "BRA", "SYNCS", "R2UR", "UTMA", "ISETP", "FSETP", "R2P", "LDGSTS")


def faults(text):
    """Instructions that touch registers of products under way, along every path: [(number of the instruction, what it does)]."""
    code, labels = instructions(text)
    found, seen = set(), [set() for _ in code]
    nothing = (frozenset(), frozenset())
    work = [(0, ((), nothing))]  # groups under way, and the one that is being started: (sums, factors) each
    while work:
        at, state = work.pop()
        while at < len(code) and state not in seen[at]:
            seen[at].add(state)
            groups, started = state
            instruction = without_guard(code[at])
            opcode, is_guarded = instruction.split()[0], code[at].startswith("@")
            under_way = (*groups, started)
            if "GMMA" in opcode:
                sums, factor, ends = product(instruction)
                for others, factors in under_way:
                    if others & factor or factors & sums or (others & sums and not sums <= others):
                        found.add((at, "products share registers: " + code[at]))
                started = (started[0] | sums, started[1] | factor)
                state = ((*groups, started)[-4:], nothing) if ends else (groups, started)
            elif opcode.startswith("WARPGROUP.DEPBAR"):
                left = int(re.search(r"gsb0,\s*(0x[0-9a-f]+)", instruction)[1], 16)
                state = (groups[len(groups) - left:] if left else (), started)
            elif not opcode.startswith(("WARPGROUP", "BAR", "WARPSYNC")):
                for touched, is_first in registers(instruction):
                    for sums, factors in under_way:
                        if sums & touched:
                            found.add((at, "touches a sum: " + code[at]))
                        elif is_first and not opcode.startswith(NOT_WRITING) and factors & touched:
                            found.add((at, "writes a factor: " + code[at]))
            branch = re.search(r"BRA.*`\((\.L_x_\d+)\)", code[at])
            if branch and branch[1] in labels:
                work.append((labels[branch[1]], state))
                if not is_guarded and not re.search(r"BRA\S*\s+!?U?P\d", instruction) and "BRA.DIV" not in instruction:
                    break
            elif opcode.startswith("EXIT") and not is_guarded or opcode.startswith(("RET", "BRX")):
                break
            at += 1
    return sorted(found)
