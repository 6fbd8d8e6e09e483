"""Mutation testing of the checks: barriers, fences and masks of our own kernels deleted or weakened, one at a time.

In: a folder of bundles (TEGULA_SIM_RECORD=FOLDER and a run of the test suites on the machine). For each different kernel
whose run is clean, each site is changed and a bundle replayed; a finding, or other bytes in memory, kill the mutant.
Out: weaken.json beside this file, with every survivor.

What cannot matter is no mutant. That is judged at the site, on the kernel as it is, and never by what the mutant does:
- a mask matters on a run in which it keeps some lane from an access that would have an effect there: outside of
  every buffer, a load of other bytes than the lane's register keeps, a store of other bytes than memory holds (a lane that
  holds a copy of an element stores what is there). Any of a kernel's runs on which it matters may kill the mutant;
- a barrier that ordered nothing in the run does not, as the profile says by brute force, without clocks: the compiler puts
  some there for arguments that overlap;
- the order of an atomic with no store to global memory before it and no load from there behind it does not;
- a wait for copies or for products of four warps, or a commit of theirs, matters on a run whose memory differs without it when
  copies and products complete as late as they may: that shows in bytes, not in findings. Such a mutant is killed by a finding, whenever
  they complete.
Another kind of mutant is one more row of KINDS. `python weaken.py FOLDER [MOST]`: at most MOST sites of each kind, spread over all.
"""
import concurrent.futures
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("TEGULA_BUILD_DIR", HERE.parents[1] / "build")) / "bin" / "tegula"
FOUND, CLEAN = 3, 0
MOST_RUNS = 8  # of one kernel, on which a mask is tried

BARRIER = re.compile(r"^\s*(bar|barrier)(\.cta)?\.(warp\.)?sync\S*\s")
FENCE = re.compile(r"^\s*(fence|membar)\.")
COMMIT = re.compile(r"^\s*(@\S+\s+)?cp\.async\.commit_group;")
WAIT = re.compile(r"^(\s*(?:@\S+\s+)?cp\.async\.wait_)(?:group\s+(\d+)|all);")
PRODUCT_COMMIT = re.compile(r"^\s*wgmma\.commit_group\.sync\.aligned;")
PRODUCT_WAIT = re.compile(r"^(\s*wgmma\.wait_group\.sync\.aligned\s+)(\d+);")
COPIES = ("late", "at-once", "random")
ORDERED = re.compile(r"\.(acq_rel|acquire|release)\b")
LOAD = re.compile(r"\s*(@\S+\s+)?ld\.")
STORE = re.compile(r"\s*(@\S+\s+)?st\.")
MASKED = re.compile(r"^(\s*)@(!?)(%p\d+)\s+((ld|st|atom|red)\.\S+\s.*)$")
COMPARED = re.compile(r"^(\s*)setp\.(lt|gt)(\.[su]\d+)\s+(%p\d+), ([^,|]+), ([^,;]+);")
PREDICATE = re.compile(r"^\s*(and|or|xor|not|mov)\.pred\s+(%p\d+), ([^;]+);")
ACCESS = re.compile(r"(ld|st)(\S*?)\.(global|shared)(\S*?)(\.v\d)?\.[busf](\d+)\s+(.*);")
FINDINGS = re.compile(r"(^|: )(out-of-bounds|misaligned|read-only|uninitialised|trap): ", re.MULTILINE)


def is_plain(what, line):
    """Whether a line loads from or stores to global memory."""
    return what.match(line) and not re.search(r"\.(shared|param|local|const)", line)


def replay(bundle, text, copies=None):
    """The exit status of a bundle with another text for its kernel, what it said, what it left in memory."""
    with tempfile.TemporaryDirectory() as folder:
        for file in bundle.iterdir():
            if file.name == "launch.txt" and copies:
                launch = re.sub(r"^copies .*\n", "", file.read_text(), flags=re.MULTILINE)
                (Path(folder) / "launch.txt").write_text(launch + f"copies {copies}\n")
            elif file.name != "kernel.ptx":
                os.symlink(file.resolve(), Path(folder) / file.name)
        (Path(folder) / "kernel.ptx").write_text(text)
        try:
            done = subprocess.run([PROGRAM, "simulate", "--replay", folder], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return None, "", ""
    return done.returncode, done.stderr, done.stdout.split("memory after the run: ")[-1]


@functools.cache
def as_it_is(bundle):
    return replay(bundle, (bundle / "kernel.ptx").read_text())


def changed(text, number, line):
    lines = text.split("\n")
    lines[number] = line
    return "\n".join(lines)


# --- whether a site matters -----------------------------------------------------------------------


def always(bundle, text, number, instead):
    return True


def orders_something(bundle, text, number, instead):
    done = subprocess.run([PROGRAM, "simulate", "--profile", "--replay", bundle], capture_output=True, text=True, timeout=60)
    return str(number + 1) not in re.findall(r"the barrier in PTX line (\d+) .* ordered nothing", done.stdout)


def listed(text):
    return [part.strip() for part in text.strip().strip("{}").split(",")]


def probe(access, extra):
    """PTX that traps where a lane for which the predicate `extra` holds would have an effect by this access."""
    match = ACCESS.match(access)
    if not match:
        return f"@{extra} trap;"  # an atomic step
    what, _, space, modifiers, vector, bits, operands = match.groups()
    address = re.search(r"\[[^]]*\]", operands)[0]
    values = listed(operands.replace(address, "").strip().strip(","))
    width = max(16, int(bits))
    names = [f"probe{k}" for k in range(len(values))]
    volatile = ".volatile" if "volatile" in access else ""
    target = f"{{{', '.join(names)}}}" if vector else names[0]
    lines = ["{", f".reg .b{width} {', '.join(names)}, kept;", ".reg .pred differs;",
             f"@{extra} ld{volatile}.{space}{vector or ''}.b{bits} {target}, {address};"]
    for name, value in zip(names, values):
        kept = value
        if int(bits) == 8:
            lines.append(f"and.b16 kept, {value}, 255;")
            kept = "kept"
        lines += [f"setp.ne.and.b{width} differs, {name}, {kept}, {extra};", "@differs trap;"]
    return "\n".join([*lines, "}"])


def has_effect(bundle, text):
    return bool(FINDINGS.search(replay(bundle, text)[1]))


def touches_more(bundle, text, number, instead):
    """A mask dropped: the lanes that it turns off."""
    line = text.split("\n")[number]
    _, negated, guard, access, _ = MASKED.match(line).groups()
    extra = f"{{\n.reg .pred extra;\n{'mov' if negated else 'not'}.pred extra, {guard};"
    return has_effect(bundle, changed(text, number, f"{line}\n{extra}\n{probe(access, 'extra')}\n}}"))


def touches_one_more(bundle, text, number, instead):
    """A comparison widened: the lanes that it lets through besides. Both outcomes are followed to the accesses they guard."""
    lines = text.split("\n")
    first = COMPARED.match(lines[number])[4]
    wide = {first: first + "w"}
    for i, line in enumerate(lines):
        if i == number:
            lines[i] = line + "\n" + instead.replace(first, wide[first], 1)
        elif match := PREDICATE.match(line):
            if any(name in wide for name in listed(match[3])):
                wide[match[2]] = match[2] + "w"
                lines[i] = line + "\n" + re.sub(r"%p\d+", lambda m: wide.get(m[0], m[0]), line)
        elif (match := MASKED.match(line)) and match[3] in wide:
            was, now = (wide[match[3]], match[3]) if match[2] else (match[3], wide[match[3]])
            lines[i] = "\n".join([line, "{", ".reg .pred extra;", f"not.pred extra, {was};", f"and.pred extra, extra, {now};",
                                  probe(match[4], "extra"), "}"])
    begin = next(i for i, line in enumerate(lines) if line.strip().startswith(".reg .pred"))
    lines[begin] += "\n.reg .pred " + ", ".join(wide.values()) + ";"
    return has_effect(bundle, "\n".join(lines))


def differs_late(bundle, text, number, instead):
    return replay(bundle, changed(text, number, instead), "late")[2] != replay(bundle, text, "late")[2]


# --- where a kernel is weakened: (line number, the line instead of it) ------------------------------------


def barriers(lines):
    return ((i, "") for i, line in enumerate(lines) if BARRIER.match(line))


def fences(lines):
    return ((i, "") for i, line in enumerate(lines) if FENCE.match(line))


def masks(lines):
    return ((i, match[1] + match[4]) for i, line in enumerate(lines) if (match := MASKED.match(line)))


def guards_an_access(lines, predicate):
    """Whether it ends in guards of loads and stores, and in no branch."""
    known = {predicate}
    for line in lines:
        if (match := PREDICATE.match(line)) and known & set(listed(match[3])):
            known.add(match[2])
    used = [line for line in lines if any(re.search(rf"@!?{name}\b", line) for name in known)]
    return any(MASKED.match(line) for line in used) and not any(re.search(r"\bbra\b", line) for line in used)


def bounds(lines):
    for i, line in enumerate(lines):
        match = COMPARED.match(line)
        if match and guards_an_access(lines, match[4]):
            yield i, line.replace("setp." + match[2], "setp." + {"lt": "le", "gt": "ge"}[match[2]])


def orders(lines):
    for i, line in enumerate(lines):
        published = any(is_plain(STORE, other) for other in lines[:i]) or any(is_plain(LOAD, other) for other in lines[i:])
        if published and re.match(r"\s*(@\S+\s+)?(atom|red|ld|st)\.", line) and ORDERED.search(line):
            yield i, ORDERED.sub(".relaxed", line)


def waits(lines):
    return ((i, "") for i, line in enumerate(lines) if WAIT.match(line) or COMMIT.match(line))


def weaker_waits(lines):
    return ((i, f"{match[1]}group {int(match[2] or 0) + 1};") for i, line in enumerate(lines) if (match := WAIT.match(line)))


def product_waits(lines):
    return ((i, "") for i, line in enumerate(lines) if PRODUCT_WAIT.match(line) or PRODUCT_COMMIT.match(line))


def weaker_product_waits(lines):
    return ((i, f"{match[1]}{int(match[2]) + 1};") for i, line in enumerate(lines) if (match := PRODUCT_WAIT.match(line)))


class Kind(NamedTuple):
    name: str
    sites: Callable    # lines -> (line number, the line instead of it)
    matters: Callable  # bundle, text, line number, the line instead of it -> bool


KINDS = [Kind("barrier deleted", barriers, orders_something), Kind("fence deleted", fences, always),
         Kind("mask dropped", masks, touches_more), Kind("mask widened", bounds, touches_one_more),
         Kind("order relaxed", orders, always), Kind("wait or commit of copies deleted", waits, differs_late),
         Kind("wait for one group too few", weaker_waits, differs_late),
         Kind("wait or commit of products deleted", product_waits, differs_late),
         Kind("wait for one group of products too few", weaker_product_waits, differs_late)]


# --- the campaign ----------------------------------------------------------------------------


def try_one(job):
    """A row for the mutant: killed, if one of the runs on which its site matters kills it. None: it matters on none."""
    bundles, text, kind, number, instead = job
    row = None
    for bundle in bundles:
        if row and row["killed"]:
            break
        if as_it_is(bundle)[0] != CLEAN or not kind.matters(bundle, text, number, instead):
            continue
        status, said, memory = replay(bundle, changed(text, number, instead))
        same = memory == as_it_is(bundle)[2]
        if kind.matters is differs_late:
            runs = [replay(bundle, changed(text, number, instead), copies) for copies in COPIES]
            status, same = (FOUND if any(run[0] == FOUND for run in runs) else status), True
        row = {"kernel": re.search(r"\.entry (\w+)", text)[1], "bundle": bundle.name, "what": kind.name, "line": number + 1,
               "text": text.split("\n")[number].strip(), "killed": status == FOUND or not same, "finding": status == FOUND,
               "status": status, "said": said.split("\n")[0]}
    return row


def size(bundle):
    return sum(file.stat().st_size for file in bundle.glob("buffer-*.bin"))


def jobs_of(folder):
    runs = {}  # of each kernel
    for bundle in sorted(path for path in Path(folder).iterdir() if (path / "kernel.ptx").exists()):
        text = (bundle / "kernel.ptx").read_text()
        code = "\n".join(line for line in text.split("\n") if not line.strip().startswith((".loc", "//")))
        runs.setdefault(code, []).append(bundle)
    for bundles in runs.values():
        # The run with most memory, and small ones, in which ends of tiles differ.
        bundles = sorted(bundles, key=size, reverse=True)
        bundles = bundles[:1] + bundles[:0:-1][:MOST_RUNS - 1]
        text = (bundles[0] / "kernel.ptx").read_text()
        found = [(kind, *site) for kind in KINDS for site in kind.sites(text.split("\n"))]
        yield from ((bundles, text, *site) for site in found)


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    jobs = list(jobs_of(sys.argv[1]))
    if len(sys.argv) > 2:
        kinds = {}
        for job in jobs:
            kinds.setdefault(job[2].name, []).append(job)
        jobs = [job for some in kinds.values() for job in some[::-(-len(some) // int(sys.argv[2]))]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for row in pool.map(try_one, jobs) if row]
    killed, found = sum(row["killed"] for row in rows), sum(row["finding"] for row in rows)
    by_kind = {}
    for row in rows:
        counts = by_kind.setdefault(row["what"], [0, 0])
        counts[0] += row["killed"]
        counts[1] += 1
    result = {"sites": len(jobs), "mutants": len(rows), "killed": killed, "with a finding": found,
              "score": round(killed / max(1, len(rows)), 4), "killed of each kind": by_kind,
              "survivors": [row for row in rows if not row["killed"]]}
    (HERE / "weaken.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: value for key, value in result.items() if key != "survivors"}, indent=1))


if __name__ == "__main__":
    main()
