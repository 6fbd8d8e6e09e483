"""Deterministic mutations of PTX files, and whether `ptxas` and the machine agree on which of them are PTX.

In: the files of test/fuzz/ptx. Each mutant differs from its file in one place. `python ptx_mutations.py` makes 2,000,
asks both, and writes what came out to ptx_mutations.json beside it; the test takes a sample.
"""
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEEDS = sorted((HERE / "ptx").glob("*.ptx"))
PROGRAM = Path(os.environ.get("TEGULA_BUILD_DIR", HERE.parents[1] / "build")) / "bin" / "tegula"

TYPES = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64 pred".split()
MODIFIERS = """rn rz rm rp rni rzi ftz sat approx full lo hi wide sync aligned global shared local param v2 v4 acq_rel
relaxed gpu cta sys nc eq lt gtu and or add max cas bfly idx ballot NaN""".split()
OPCODES = """add sub mul mad fma div rem min max abs neg and or xor not shl shr mov ld st cvt setp selp atom red bar shfl
vote bra ret popc clz sqrt rcp ex2 foo""".split()
OPERAND = re.compile(r"%[a-z]+\d+|\b0[fdx][0-9A-Fa-f]+|(?<![\w.%:])-?\d+\b")


def instructions(lines):
    return [i for i, line in enumerate(lines) if line.strip().endswith(";") and not line.strip().startswith(".")]


def other(rng, choices, old):
    return rng.choice([choice for choice in choices if choice != old])


def change_part(rng, line, choices, wanted=lambda part: True):
    """Another word for one of the dotted parts of the mnemonic."""
    match = re.match(r"(\s*(?:@!?%\w+\s+)?)([\w.:]+)(.*)", line, re.S)
    parts = match[2].split(".")
    places = [i for i in range(1, len(parts)) if wanted(parts[i])]
    if not places:
        return line
    place = rng.choice(places)
    parts[place] = other(rng, choices, parts[place])
    return match[1] + ".".join(parts) + match[3]


def change_opcode(rng, line):
    return re.sub(r"^(\s*(?:@!?%\w+\s+)?)([a-z][a-z0-9]*)", lambda m: m[1] + other(rng, OPCODES, m[2]), line, count=1)


def drop_part(rng, line):
    parts = re.findall(r"\.[A-Za-z][\w:]*", line.split(None, 2)[0] if not line.strip().startswith("@") else line)
    return line.replace(rng.choice(parts), "", 1) if parts else line


def add_part(rng, line):
    parts = re.findall(r"\.[A-Za-z][\w:]*", line)
    if not parts:
        return line
    part = rng.choice(parts)
    return line.replace(part, part + "." + rng.choice(MODIFIERS), 1)


def change_operand(rng, line):
    found = list(OPERAND.finditer(line))
    if not found:
        return line
    match = rng.choice(found)
    register = re.fullmatch(r"(%[a-z]+)(\d+)", match[0])
    if register and rng.random() < 0.5:  # another one of its kind
        return line[:match.start()] + register[1] + str(other(rng, range(1, 8), int(register[2]))) + line[match.end():]
    new = rng.choice(["%r1", "%rd1", "%f1", "%rs1", "%p1", "%fd1", "%r99", "7", "-1", "0x10", "0f3F800000", "nothing"])
    return line[:match.start()] + new + line[match.end():]


def drop_operand(rng, line):
    pieces = line.split(",")
    if len(pieces) < 2:
        return line
    del pieces[rng.randrange(1, len(pieces))]
    joined = ",".join(pieces)
    return joined if joined.rstrip().endswith(";") else joined.rstrip() + ";"


def add_operand(rng, line):
    return line.rstrip().rstrip(";") + ", " + rng.choice(["%r1", "%f1", "0", "%p1"]) + ";"


def change_mark(rng, line):
    marks = [i for i, c in enumerate(line) if c in "[]{},;|@!+."]
    if not marks:
        return line
    place = rng.choice(marks)
    return line[:place] + rng.choice(["", ",", ";", "[", "]", "{", "}", "|", "!"]) + line[place + 1:]


MUTATIONS = {
    "another type": lambda rng, line: change_part(rng, line, TYPES, lambda part: part in TYPES),
    "another modifier": lambda rng, line: change_part(rng, line, MODIFIERS),
    "another opcode": change_opcode,
    "one part less": drop_part,
    "one part more": add_part,
    "another operand": change_operand,
    "one operand less": drop_operand,
    "one operand more": add_operand,
    "another mark": change_mark,
}


def mutant(number):
    """(what was done, the file's name, its lines, the changed line's number)"""
    rng = random.Random(number)
    seed = SEEDS[number % len(SEEDS)]
    lines = seed.read_text().split("\n")
    while True:
        kind = rng.choice(sorted(MUTATIONS))
        place = rng.choice(instructions(lines))
        changed = MUTATIONS[kind](rng, lines[place])
        if changed != lines[place]:
            lines[place] = changed
            return kind, seed.name, lines, place


def assembles(path):
    arch = re.search(r"\.target\s+(\w+)", path.read_text())[1]
    done = subprocess.run(["ptxas", f"-arch={arch}", path, "-o", path.with_suffix(".cubin")], capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def understood(paths):
    """For each file what the machine says against it; "" for nothing."""
    done = subprocess.run([PROGRAM, "check", "--json", *paths], capture_output=True, text=True)
    said = {}
    for line in done.stdout.splitlines():
        problem = json.loads(line)
        name = re.search(r"[\w/.-]*mutant\d+\.ptx", problem["file"] + " " + problem["message"])[0]
        said.setdefault(Path(name).name, problem["message"])
    return [said.get(path.name, "") for path in paths]


def compare(numbers):
    """One row a mutant: number, kind, line, what each said."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        mutants = [(number, *mutant(number)) for number in numbers]
        paths = []
        for number, _, _, lines, _ in mutants:
            paths.append(Path(folder) / f"mutant{number}.ptx")
            paths[-1].write_text("\n".join(lines))
        ptxas = list(pool.map(assembles, paths))
        for (number, kind, seed, lines, place), (accepted, said), ours in zip(mutants, ptxas, understood(paths)):
            rows.append({"number": number, "mutation": kind, "file": seed, "line": lines[place].strip(), "ptxas": accepted,
                         "machine": not ours, "said": (ours or said.strip().split("\n")[0]).replace(folder + "/", "")})
    return rows


def summary(rows):
    outcomes = Counter((row["ptxas"], row["machine"]) for row in rows)
    return {"mutants": len(rows), "both accept": outcomes[True, True], "both refuse": outcomes[False, False],
            "only ptxas accepts": outcomes[True, False], "only the machine accepts": outcomes[False, True]}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rows = compare(range(count))
    result = {"summary": summary(rows), "differences": [row for row in rows if row["ptxas"] != row["machine"]]}
    (HERE / "ptx_mutations.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["summary"], indent=1))


if __name__ == "__main__":
    if not shutil.which("ptxas"):
        sys.exit("ptxas is not on the path")
    main()
