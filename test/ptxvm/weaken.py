"""Mutation testing of the checks: barriers, fences and masks of our own kernels deleted or weakened, one at a time.

In: a folder of bundles (TEGULA_SIM_RECORD=FOLDER and a run of the test suites on the machine). For each different kernel
whose run is clean, each site is changed and the bundle replayed; a finding, or other bytes in memory, kill the mutant.
Out: weaken.json beside this file, with every survivor.

What cannot matter is no site, or no mutant:
- a mask that no lane of the run is turned off by; a mask without which the run has no finding and leaves the same
  memory (lanes that hold the same element store the same value);
- a barrier that ordered nothing in the run, as the profile says by brute force, without clocks: the compiler puts some
  there for arguments that overlap;
- a wait for copies of more groups than the run ever has under way there (the changed run has no finding and leaves
  the same memory whenever copies complete);
- the order of an atomic with no store to global memory before it and no load from there behind it.
`python weaken.py FOLDER [MOST]`: at most MOST sites of each kind, spread over all.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("TEGULA_BUILD_DIR", HERE.parents[1] / "build")) / "bin" / "tegula"
FOUND, CLEAN = 3, 0

BARRIER = re.compile(r"^\s*(bar|barrier)(\.cta)?\.(warp\.)?sync\S*\s")
FENCE = re.compile(r"^\s*(fence|membar)\.")
ORDERED = re.compile(r"\.(acq_rel|acquire|release)\b")
COMMIT = re.compile(r"^\s*(@\S+\s+)?cp\.async\.commit_group;")
WAIT = re.compile(r"^(\s*(?:@\S+\s+)?cp\.async\.wait_)(?:group\s+(\d+)|all);")
COPIES = ("late", "at-once", "random")
LOAD = re.compile(r"\s*(@\S+\s+)?ld\.")
STORE = re.compile(r"\s*(@\S+\s+)?st\.")
MASKED = re.compile(r"^(\s*)@(!?%p\d+)\s+((ld|st|atom|red)\.\S+\s.*)$")


def is_plain(what, line):
    """Whether a line loads from or stores to global memory."""
    return what.match(line) and not re.search(r"\.(shared|param|local|const)", line)


def sites(text):
    """(what, line number, the line instead of it)"""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if BARRIER.match(line):
            yield "barrier deleted", number, ""
        elif FENCE.match(line):
            yield "fence deleted", number, ""
        elif COMMIT.match(line):
            yield "commit of copies deleted", number, ""
        elif match := WAIT.match(line):
            yield "wait for copies deleted", number, ""
            yield "wait for one group too few", number, f"{match[1]}group {int(match[2] or 0) + 1};"
        elif match := MASKED.match(line):
            yield "mask dropped", number, match[1] + match[3]
        published = any(is_plain(STORE, other) for other in lines[:number]) or any(is_plain(LOAD, other) for other in lines[number:])
        if published and re.match(r"\s*(@\S+\s+)?(atom|red|ld|st)\.", line) and ORDERED.search(line):
            yield "order relaxed", number, ORDERED.sub(".relaxed", line)


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


def changed(text, number, line):
    lines = text.split("\n")
    lines[number] = line
    return "\n".join(lines)


def is_mask_used(bundle, text, number):
    """Whether some lane is turned off: a trap in its place is reached."""
    line = text.split("\n")[number]
    guard = MASKED.match(line)[2]
    inverse = guard[1:] if guard.startswith("!") else "!" + guard
    return replay(bundle, changed(text, number, f"@{inverse} trap;\n{line}"))[0] == FOUND


def idle_barriers(bundle):
    done = subprocess.run([PROGRAM, "simulate", "--profile", "--replay", bundle], capture_output=True, text=True, timeout=60)
    return {int(line) for line in re.findall(r"the barrier in PTX line (\d+) .* ordered nothing", done.stdout)}


def try_one(job):
    bundle, text, (what, number, line) = job
    if what == "mask dropped" and not is_mask_used(bundle, text, number):
        return None
    status, said, memory = replay(bundle, changed(text, number, line))
    if what == "barrier deleted" and number + 1 in idle_barriers(bundle):
        return None
    same = memory == replay(bundle, text)[2]
    if what == "mask dropped" and status == CLEAN and same:
        return None
    if "copies" in what or "group" in what:
        runs = [replay(bundle, changed(text, number, line), copies) for copies in COPIES]
        differs = any(left != replay(bundle, text)[2] for _, _, left in runs)
        if not differs and all(code == CLEAN for code, _, _ in runs):
            return None
        same = same and not differs
    return {"bundle": bundle.name, "what": what, "line": number + 1, "text": text.split("\n")[number].strip(),
            "killed": status == FOUND or not same, "finding": status == FOUND, "status": status,
            "said": said.split("\n")[0]}


def size(bundle):
    return sum(file.stat().st_size for file in bundle.glob("buffer-*.bin"))


def jobs_of(folder):
    largest = {}  # of the runs of one kernel the one with most memory
    for bundle in sorted(path for path in Path(folder).iterdir() if (path / "kernel.ptx").exists()):
        text = (bundle / "kernel.ptx").read_text()
        code = "\n".join(line for line in text.split("\n") if not line.strip().startswith((".loc", "//")))
        if code not in largest or size(bundle) > size(largest[code]):
            largest[code] = bundle
    for bundle in largest.values():
        text = (bundle / "kernel.ptx").read_text()
        found = list(sites(text))
        if found and replay(bundle, text)[0] == CLEAN:
            yield from ((bundle, text, site) for site in found)


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    jobs = list(jobs_of(sys.argv[1]))
    if len(sys.argv) > 2:
        kinds = {}
        for job in jobs:
            kinds.setdefault(job[2][0], []).append(job)
        jobs = [job for some in kinds.values() for job in some[::-(-len(some) // int(sys.argv[2]))]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for row in pool.map(try_one, jobs) if row]
    killed, found = sum(row["killed"] for row in rows), sum(row["finding"] for row in rows)
    by_kind = {}
    for row in rows:
        counts = by_kind.setdefault(row["what"], [0, 0])
        counts[0] += row["killed"]
        counts[1] += 1
    result = {"mutants": len(rows), "killed": killed, "with a finding": found, "score": round(killed / max(1, len(rows)), 4),
              "killed of each kind": by_kind, "survivors": [row for row in rows if not row["killed"]]}
    (HERE / "weaken.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: value for key, value in result.items() if key != "survivors"}, indent=1))


if __name__ == "__main__":
    main()
