"""Why a spelling is as fast as it is: registers, shared memory, spills, the instructions of its hottest loop, reasons of stalls.

    profile_kernel.py "matmul, wrapped nn" [--kind f16] [--size 4096 | --size batch=4,heads=16,length=4096,head=128,causal=1]
                      [--config 128,128,64 --warps 8 --stages 3] [--who ours,upstream] [--keep FOLDER] [--no-ncu]
    profile_kernel.py --cubin FILE...
    ./x gpu --steps profile --profile '"matmul, wrapped nn" --stages 4'

The first form needs a GPU; a spelling is a name of bench/gpu/spelled.py. It prints for each compiler one block of some ten lines.
Stalls need `ncu` and the right to read counters; where one is missing a line says so. The second form needs cuobjdump only, which
comes with CUDA and with upstream's package.
"""
import argparse
import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
NCU_SECONDS = 90

# Says what instructions are for; the first that matches counts.
KINDS = [("tensor", r"H?GMMA|[HIDQ]MMA|WGMMA"), ("fragments", r"LDSM|STSM|MOVM"), ("async copy", r"LDGSTS|UTMA|UBLKCP|CP\b"),
         ("spill", r"LDL|STL"), ("global load", r"LDG?\b|LDG|LD\b"), ("global store", r"STG|ST\b|RED|ATOM"), ("shared load", r"LDS"),
         ("shared store", r"STS|ATOMS"), ("barrier, wait", r"BAR|DEPBAR|LDGDEPBAR|SYNCS|WARPSYNC|WARPGROUP|NANOSLEEP"),
         ("exchange", r"SHFL|VOTE|REDUX|MATCH"), ("function", r"MUFU"), ("f32", r"FFMA|FADD|FMUL|FMNMX|FSEL|FSETP|FCHK"),
         ("f16", r"H(FMA|ADD|MUL|MNMX|SET)2?"), ("convert", r"[FI]2[FIP]|F2FP|I2FP"), ("branch", r"BRA|EXIT|CALL|RET|BSSY|BSYNC|YIELD"),
         ("predicate", r"[IU]?SETP|PLOP3|P2R|R2P"), ("integer, address", r"U?(IMAD|IADD|LEA|SHF|LOP|IABS|ISETP|SEL|VIADD|VIMNMX|IMNMX)|IDP|POPC"),
         ("move", r"U?MOV|U?PRMT|CS2R|S2U?R|R2UR|ULDC|LDC")]


def tool(name):
    found = shutil.which(name)
    if found:
        return found
    places = [Path("/usr/local/cuda/bin") / name, *Path("/usr/local").glob(f"cuda*/bin/{name}")]
    try:
        import triton
        places.append(Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name)
    except ImportError:
        pass
    return next((str(place) for place in places if place.exists()), None)


# --- instructions ------------------------------------------------------------------------------------


def instructions(cubin):
    """[(address, opcode with its suffixes, text)] of all functions of a file, one after another."""
    disassembler = tool("cuobjdump")
    if disassembler is None:
        return []
    text = subprocess.run([disassembler, "-sass", cubin], capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        match = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ +)?([A-Z][\w.]*)(.*)", line)
        if match:
            found.append((int(match[1], 16), match[2], line.split("*/", 1)[1].split(";")[0].strip()))
    return found


def kind_of(opcode):
    return next((name for name, pattern in KINDS if re.match(pattern, opcode)), "other")


def loops(code):
    """(first, last) indices of the instructions of each loop, from branches backwards."""
    index = {address: i for i, (address, _, _) in enumerate(code)}
    for i, (address, opcode, text) in enumerate(code):
        match = re.search(r"0x([0-9a-f]+)", text) if opcode.startswith("BRA") else None
        if match and int(match[1], 16) < address and int(match[1], 16) in index:
            yield index[int(match[1], 16)], i


def hottest(code):
    """The innermost loop with the most tensor instructions, else the most f32 ones, else the longest."""
    found = list(loops(code))
    innermost = [(a, b) for a, b in found if not any((c, d) != (a, b) and a <= c and d <= b for c, d in found)]

    def weight(loop):
        kinds = Counter(kind_of(opcode) for _, opcode, _ in code[loop[0]:loop[1] + 1])
        return kinds["tensor"], kinds["f32"], loop[1] - loop[0]

    return max(innermost, key=weight, default=None)


def mix(code):
    kinds = Counter(kind_of(opcode) for _, opcode, _ in code)
    return ", ".join(f"{name} {count}" for name, count in kinds.most_common())


def report_code(cubin):
    code = instructions(cubin)
    if not code:
        print("  there is no cuobjdump, or it says nothing of this file")
        return
    usage = subprocess.run([tool("cuobjdump"), "-res-usage", cubin], capture_output=True, text=True).stdout
    for line in re.findall(r"REG:.*", usage):
        print(f"  {line.strip()}")
    print(f"  all of it: {len(code)} instructions: {mix(code)}")
    print("  matrix and copy forms: " + (", ".join(f"{name} {count}" for name, count in Counter(
        opcode for _, opcode, _ in code if kind_of(opcode) in ("tensor", "fragments", "async copy", "spill")).most_common(12)) or "none"))
    loop = hottest(code)
    if loop:
        inside = code[loop[0]:loop[1] + 1]
        print(f"  hottest loop: {len(inside)} instructions: {mix(inside)}")
        print("    opcodes: " + ", ".join(f"{name} {count}" for name, count in Counter(op for _, op, _ in inside).most_common(14)))


# --- stalls --------------------------------------------------------------------------------------------

METRICS = {"gpu__time_duration.sum": "time", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "SM %",
           "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active": "tensor pipe %",
           "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory %",
           "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy %",
           "l1tex__data_bank_conflicts_pipe_lsu.sum": "bank conflicts", "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue %"}
STALLS = ["long_scoreboard", "short_scoreboard", "wait", "barrier", "math_pipe_throttle", "mio_throttle", "lg_throttle", "not_selected",
          "no_instruction", "dispatch_stall", "branch_resolving", "membar", "sleeping", "tex_throttle", "drain", "imc_miss", "gmma"]
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def report_stalls(args, who, kernel):
    """Runs this file again under ncu, for the second launch of the kernel."""
    ncu = tool("ncu")
    if ncu is None:
        print("  there is no ncu")
        return
    metrics = ",".join([*METRICS, *(STALL.format(name) for name in STALLS)])
    again = [sys.executable, __file__, args.spelling, "--kind", args.kind, "--size", args.size, "--config", args.config, "--warps",
             str(args.warps), "--stages", str(args.stages), "--who", who, "--launch-only"]
    command = [ncu, "--clock-control", "none", "--csv", "--kernel-name", f"regex:{kernel}", "--launch-skip", "1", "--launch-count", "1",
               "--metrics", metrics, *again]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=NCU_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"  ncu took more than {NCU_SECONDS} s")
        return
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    values = {row.get("Metric Name"): (row.get("Metric Value"), row.get("Metric Unit", "")) for row in rows}
    if not values:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERR" in line or "rror" in line]
        print(f"  ncu measures nothing here: {(said or ['no reason given'])[0].strip()[:200]}")
        return
    print("  " + ", ".join(f"{title} {values[name][0]}{' ' + values[name][1] if title == 'time' else ''}"
                           for name, title in METRICS.items() if name in values))
    stalls = []
    for name in STALLS:
        try:
            stalls.append((float(values[STALL.format(name)][0].replace(",", "")), name))
        except (KeyError, ValueError):
            continue
    print("  stalls, warps for each issue: " + ", ".join(f"{name} {value:.2f}" for value, name in sorted(stalls, reverse=True)[:7]))


# --- one compiler ------------------------------------------------------------------------------------------


def numbers(text):
    return {name: int(value) for name, value in (item.split("=") for item in text.split(","))}


def size_of(args):
    if not args.size:
        args.size = "4096" if args.spelling.startswith("matmul") else "batch=4,heads=16,length=4096,head=128,causal=1"
    if args.size.isdigit():
        return dict.fromkeys("mnk", int(args.size))
    size = numbers(args.size)
    return {**size, "causal": bool(size["causal"])} if "causal" in size else size


def config_of(args):
    blocks = [int(value) for value in args.config.split(",")] if args.config else \
        [128, 128, 64] if args.spelling.startswith("matmul") else [128, 64]
    args.config = ",".join(map(str, blocks))
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    return {**dict(zip(names, blocks)), "num_warps": args.warps, "num_stages": args.stages}


def launch(args, who):
    """Returns the kernel that a launch ran, and the seconds and TFLOPS of one, the L2 cache flushed."""
    import sources
    import spelled
    import torch
    from clock import Clock

    spelling, config = spelled.ALL[args.spelling], config_of(args)
    module = sources.load(spelling.source, sources.PACKAGES[who], HERE / "spellings")
    sources.watch(vars(module))
    generator = torch.Generator(device="cuda").manual_seed(1)
    s = spelling.make(generator, spelled.DTYPES[args.kind], **size_of(args))
    call = lambda: spelling.call(module, s, None, config)
    call()
    torch.cuda.synchronize()
    compiled = sources.last_compiled
    if args.launch_only:
        call()
        torch.cuda.synchronize()
        return compiled, None, None
    seconds = sorted(Clock().events(call, 9))[4]
    return compiled, seconds, spelling.flops(s) / seconds * 1e-12


def report(args, who):
    import rounds
    try:
        compiled, seconds, rate = launch(args, who)
    except Exception as error:
        print(f"{who}: {type(error).__name__}: {str(error)[:400]}")
        return
    if args.launch_only:
        return
    said = ", ".join(f"{name} {value}" for name, value in rounds.properties(compiled).items())
    print(f"{who}: {args.spelling} {args.kind} {args.size} blocks {args.config}: {seconds * 1e6:.1f} us, {rate:.1f} TFLOP/s; {said}")
    folder = args.keep or Path(tempfile.mkdtemp(prefix="profile-"))
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{who}-{re.sub('[^a-z0-9]+', '-', args.spelling.lower())}-{args.kind}"
    cubin = stem.with_suffix(".cubin")
    cubin.write_bytes(compiled.asm["cubin"])
    text = compiled.asm["ptx"]
    stem.with_suffix(".ptx").write_text(text if isinstance(text, str) else text.decode())
    report_code(cubin)
    if not args.no_ncu:
        report_stalls(args, who, compiled.name)


def main():
    parser = argparse.ArgumentParser(prog="profile_kernel.py", description=__doc__.splitlines()[0])
    parser.add_argument("spelling", nargs="?", help="a name of bench/gpu/spelled.py")
    parser.add_argument("--kind", default="f16")
    parser.add_argument("--size", default="")
    parser.add_argument("--config", default="", help="BLOCK_M,BLOCK_N[,BLOCK_K]")
    parser.add_argument("--warps", type=int, default=8)
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--who", default="ours,upstream")
    parser.add_argument("--keep", type=Path, help="folder for cubin and PTX")
    parser.add_argument("--no-ncu", action="store_true")
    parser.add_argument("--launch-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--cubin", nargs="+", type=Path, help="files to look at instead")
    args = parser.parse_args()
    if args.cubin:
        for path in args.cubin:
            print(path.name)
            report_code(path)
        return
    sys.path.insert(0, str(HERE))
    import spelled
    if args.spelling not in spelled.ALL:
        parser.error(f"no spelling `{args.spelling}`; there are: {'; '.join(spelled.ALL)}")
    size_of(args), config_of(args)
    for who in args.who.split(","):
        report(args, who)


if __name__ == "__main__":
    main()
