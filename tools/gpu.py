"""`./x gpu`: everything that a GPU machine is for: right results first, then the benchmarks by priority.

In: a checkout on a machine with a GPU, PyTorch and pytest; and the library, from a build or from the archive that
`./x bundle` made. Out: FOLDER/gpu-tests.json, FOLDER/gpu.json (written after each case), FOLDER/ptx.zip and logs.
Standard library only. Each step runs in processes of its own: what hangs is killed, what dies loses one case.

    ./x gpu [--steps set,tests,sanitize,bench] [--only PART,...] [--budget SECONDS] [--out FOLDER] [--jobs N]
    ./x gpu --steps profile --profile ARGUMENTS            registers, instructions and stalls of one of them
    ./x gpu --steps conformance,programs                   documented behaviours and users' programs, beside upstream
    ./x gpu --steps inductor [--case WORD,...]              torch.compile beside eager: FOLDER/inductor.json
    ./x gpu --steps spellings [--quick] [--case TEXT]      products and attention, in many spellings, beside upstream's
    ./x gpu --steps goals [--case TEXT]                    the plain spellings at the sizes that there are goals for
    ./x gpu --steps lengths [--case TEXT]                  products whose rows are no multiples of 16 elements
    ./x gpu --steps random [--seeds FIRST:LAST,SEED,...]   random kernels beside upstream's: FOLDER/random.json
"""
import argparse
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = ["set", "tests", "conformance", "programs", "sanitize", "bench", "inductor", "spellings", "goals", "lengths", "random", "types", "profile"]
TEST_SECONDS, SET_SECONDS, SANITIZE_SECONDS, BESIDE_SECONDS = 300, 90, 150, 150
BESIDE = ["conformance", "programs"]  # suites that run under upstream Triton as well
TEST_SILENCE = 45  # seconds after which a test is taken to hang; the first waits for imports
SILENCE = 100  # seconds without a new result after which a benchmark is taken to hang
DEVICE_LOST = 3


def say(text):
    print(f"gpu: {text}", flush=True)


# --- the library -----------------------------------------------------------------------------


def unpacked(archive):
    """The folder that an archive of `./x bundle` holds, unpacked beside other temporary files once."""
    room = Path(tempfile.gettempdir()) / f"{archive.name.split('.tar')[0]}-{int(archive.stat().st_mtime)}"
    if not room.exists():
        fresh = room.with_suffix(".partial")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        subprocess.run(["tar", "-C", fresh, "--strip-components=1", "-xf", archive], check=True)
        fresh.rename(room)
    return room


def library(bundle):
    """(folder, folder of the Python package): of the bundle given, else the newest in dist/, else the build."""
    archives = sorted((ROOT / "dist").glob("*.tar.*"), key=lambda path: path.stat().st_mtime)
    if bundle or archives:
        place = Path(bundle) if bundle else archives[-1]
        folder = place if place.is_dir() else unpacked(place)
        return folder, folder / "lib" / "tegula-python"
    for build in ("build-release", "build"):
        if (ROOT / build / "python" / "tegula").exists():
            return ROOT / build, ROOT / build / "python"
    sys.exit("gpu: there is neither an archive in dist/ nor a build; run `./x bundle` where the tools are")


def compile_extension(package, folder):
    """The extension for this Python, where the bundle has none for it but its source and a compiler is here."""
    suffix = subprocess.run([sys.executable, "-c", "import sysconfig as s; print(s.get_config_var('EXT_SUFFIX')); "
                             "print(s.get_path('include'))"], capture_output=True, text=True, check=True).stdout.split()
    extension = package / "tegula" / f"_tegula{suffix[0]}"
    if extension.exists():
        return
    compiler = next(filter(shutil.which, ("clang++-22", "clang++", "g++")), None)
    if compiler is None or not Path(suffix[1], "Python.h").exists():
        sys.exit(f"gpu: {extension.name} is not in {extension.parent}, and there is no compiler or no Python.h to make it")
    sources = sorted((ROOT / "python" / "bindings").glob("*.cpp"))
    subprocess.run([compiler, "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}", f"-I{suffix[1]}", *sources,
                    "-o", extension, f"-L{folder / 'lib'}", "-ltegula", f"-Wl,-rpath,{folder / 'lib'}"], check=True)
    say(f"compiled {extension.name} with {compiler}")


def environment(folder, package):
    found = os.environ
    cuda = next((path for path in (found.get("CUDA_HOME"), found.get("CUDA_PATH"), "/usr/local/cuda") if path and Path(path).exists()), None)
    path = [str(folder / "bin"), found.get("PATH", ""), *([f"{cuda}/bin"] if cuda else [])]
    return {**found, "PATH": ":".join(path), "TEGULA_BUILD_DIR": str(folder), "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": ":".join([str(package), *filter(None, [found.get("PYTHONPATH")])])}


# --- processes -------------------------------------------------------------------------------


class Process:
    """A child in a process group of its own, its output in a log, and its errors in another if asked for."""

    def __init__(self, command, log, env, errors=None):
        self.log, self.started = log, time.monotonic()
        self.file = open(log, "w")
        self.errors = open(errors, "w") if errors else subprocess.STDOUT
        self.child = subprocess.Popen([str(part) for part in command], cwd=ROOT, env=env, stdout=self.file,
                                      stderr=self.errors, start_new_session=True)

    def kill(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()

    def wait_until(self, deadline):
        """The exit status; None when it had to be killed."""
        try:
            status = self.child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            status = None
        self.file.close()
        return status

    def text(self):
        return self.log.read_text(errors="replace")


# --- steps -----------------------------------------------------------------------------------


def run_set(args, env, results):
    """Every kernel once; the first sign of life."""
    command = [sys.executable, ROOT / "bench" / "gpu" / "kernel_set.py", "--report", args.work / "set.json"]
    process = Process(command, args.work / "set.log", env)
    status = process.wait_until(time.monotonic() + SET_SECONDS)
    print(process.text(), end="", flush=True)
    results["set"] = {"status": status, "seconds": time.monotonic() - process.started, **read(args.work / "set.json")}
    say(f"kernel set: {'killed, it hung' if status is None else 'right' if status == 0 else 'NOT RIGHT'}")


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def merged(shares):
    outcomes, skipped, failures = {}, Counter(), []
    for share in shares:
        for suite, counts in share.get("outcomes", {}).items():
            outcomes.setdefault(suite, Counter()).update(counts)
        skipped.update(share.get("skipped", {}))
        failures += share.get("failures", [])
    return outcomes, skipped, failures


class Share:
    """One share of the tests, in one process after another: behind a test that kills or hangs its process, or loses
    the device, the next goes on."""

    MOST_PROCESSES = 12

    def __init__(self, index, count, suites, args, env, name="share"):
        self.index, self.count, self.suites, self.args, self.env, self.name = index, count, suites, args, env, name
        self.reports, self.start, self.is_done, self.note = [], 0, False, ""
        self.launch()

    def launch(self):
        name = f"{self.name}-{self.index}-{len(self.reports)}"
        self.reports.append(self.args.work / f"{name}.json")
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "--tb=short", "-p", "no:cacheprovider", "--share",
                   f"{self.index}/{self.count}@{self.start}", "--report", self.reports[-1], *self.suites]
        self.process = Process(command, self.args.work / f"{name}.log", self.env)

    def poll(self):
        """Looks after the process; call it now and then."""
        if self.is_done:
            return
        status = self.process.child.poll()
        changed = max(progress(self.reports[-1]) / 1e9, time.time() - (time.monotonic() - self.process.started))
        if status is None and time.time() - changed > TEST_SILENCE:
            self.process.kill()
            status = "a hang"
        if status is not None:
            self.process.file.close()
            self.go_on(status)

    def go_on(self, status):
        report = read(self.reports[-1])
        if report.get("ended"):
            self.is_done = True
            return
        culprit = report.get("under way")
        if culprit:
            report.setdefault("failures", []).append({"test": culprit, "error": f"the process ended with {status}"})
            self.reports[-1].write_text(json.dumps(report))
        done = report.get("done", 0) + bool(culprit)
        self.start += done
        if done == 0 or len(self.reports) == self.MOST_PROCESSES:
            self.is_done, self.note = True, f"ended with {status}: {self.process.text()[-1500:]}"
        else:
            self.launch()

    def stop(self):
        if not self.is_done:
            self.process.kill()
            self.is_done, self.note = True, f"not ended in time; under way: {read(self.reports[-1]).get('under way')}"


def ended(shares, deadline):
    """Waits for shares that run beside each other; their outcomes, reasons of skipping, failures, and those that did not end."""
    while not all(share.is_done for share in shares) and time.monotonic() < deadline:
        time.sleep(0.2)
        for share in shares:
            share.poll()
    for share in shares:
        share.stop()
    notes = {f"{share.name} {share.index}": share.note for share in shares if share.note}
    return *merged(read(report) for share in shares for report in share.reports), notes


def run_tests(args, env, results):
    """test/ops, test/kernels, test/python and the random programs on the GPU, in shares that run beside each other."""
    started, jobs = time.monotonic(), args.jobs
    suites = [ROOT / "test" / suite for suite in ("ops", "kernels", "fuzz", "python")]
    shares = [Share(index, jobs, suites, args, env) for index in range(jobs)]
    outcomes, skipped, failures, notes = ended(shares, started + TEST_SECONDS)
    results["tests"] = {"seconds": time.monotonic() - started, "outcomes": outcomes, "skipped": skipped, "failures": failures,
                        "shares that did not end": notes}
    say_tests(outcomes, skipped, failures, notes)
    say(f"tests took {time.monotonic() - started:.0f} s in {jobs} shares, "
        f"{sum(len(share.reports) for share in shares)} processes")


def say_tests(outcomes, skipped, failures, notes):
    for suite, counts in sorted(outcomes.items()):
        say(f"tests of {suite}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    for reason, count in skipped.most_common(20):
        say(f"  skipped {count}: {reason[:160]}")
    alike = {}
    for failure in failures:
        text = (failure["error"].splitlines() or ["?"])[0][:150]
        alike.setdefault(re.sub(r"\d+", "#", text), []).append(failure["test"])
    for error, tests in sorted(alike.items(), key=lambda item: -len(item[1]))[:20]:
        say(f"  FAILED {len(tests)}: {error}  e.g. {tests[0]}")
    for index, note in notes.items():
        say(f"  share {index}: {note[-400:]}")


def run_beside(suite):
    """A step that runs one suite, test/conformance or test/programs, under Tegula and then under upstream Triton."""

    def step(args, env, results):
        found = results[suite] = {}
        for name, more in (("tegula", {}), ("upstream", {"TRITON_MEANS": "upstream"})):
            started = time.monotonic()
            shares = [Share(index, args.jobs, [ROOT / "test" / suite], args, {**env, **more}, f"{suite}-{name}")
                      for index in range(args.jobs)]
            outcomes, skipped, failures, notes = ended(shares, started + BESIDE_SECONDS)
            found[name] = {"seconds": time.monotonic() - started, "outcomes": outcomes, "skipped": skipped, "failures": failures,
                           "shares that did not end": notes}
            say(f"{suite} under {name}, {time.monotonic() - started:.0f} s:")
            say_tests(outcomes, skipped, failures, notes)
        found["differences"] = differences(found["tegula"]["failures"], found["upstream"]["failures"])
        for title, tests in found["differences"].items():
            say(f"{suite}: {len(tests)} {title}")
            for test, error in sorted(tests.items()):
                print(f"    {test.removeprefix('test/')}: {error[:200]}", flush=True)

    return step


def differences(ours, theirs):
    """Failures by who fails; what only upstream passes is a fault of Tegula's."""
    errors = [{failure["test"]: " ".join(failure["error"].split()) for failure in failures} for failures in (ours, theirs)]
    own = {test: error for test, error in errors[0].items() if test not in errors[1]}
    return {"fail under Tegula only": own,
            "fail under upstream only": {test: error for test, error in errors[1].items() if test not in errors[0]},
            "fail under both": {test: error for test, error in errors[0].items() if test in errors[1]}}


def run_sanitize(args, env, results):
    """memcheck and racecheck over the kernel set, where the tool is."""
    tool = shutil.which("compute-sanitizer", path=env["PATH"])
    if tool is None:
        results["sanitize"] = "there is no compute-sanitizer"
        say(results["sanitize"])
        return
    env = {**env, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}  # each tensor an allocation: what leaves it is found
    results["sanitize"] = {}
    kernels = [sys.executable, ROOT / "bench" / "gpu" / "kernel_set.py", "--first"]
    started = time.monotonic()
    processes = {name: Process([tool, "--tool", name, "--error-exitcode", "9", "--target-processes", "all", *kernels],
                               args.work / f"{name}.log", env) for name in ("memcheck", "racecheck")}
    for name, process in processes.items():
        status = process.wait_until(started + SANITIZE_SECONDS)
        text = process.text()
        ends = re.findall(r"=+ (?:ERROR|RACECHECK) SUMMARY.*", text)
        results["sanitize"][name] = {"status": status, "summary": ends[-1:] or text[-600:]}
        say(f"{name}: status {status}; {ends[-1] if ends else text[-300:]}")
        for line in [line for line in text.splitlines() if line.startswith("=========") and "SUMMARY" not in line][:12]:
            print(f"    {line}", flush=True)


def progress(path):
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def run_bench(args, env, results):
    """The benchmarks; a case that kills or hangs its process costs that case."""
    deadline = args.started + args.budget
    record = args.out / "gpu.json"
    for attempt in range(8):
        left = deadline - time.monotonic()
        if left < 10:
            say("no time left for benchmarks")
            return
        command = [sys.executable, ROOT / "bench" / "gpu" / "run.py", "--budget", f"{left - 5:.0f}", "--out", args.out,
                   "--only", args.only, *(["--resume"] if attempt else [])]
        # what upstream prints of its own failures is long
        process = Process(command, args.work / f"bench-{attempt}.log", env, args.work / f"bench-{attempt}-errors.log")
        status = follow(process, record, deadline + 20)
        if status == 0:
            return
        errors = (args.work / f"bench-{attempt}-errors.log").read_text(errors="replace")
        say(f"the benchmark process ended with {status}; the case under way is given up; {errors[-600:]}")
        if not record.exists():
            return


def run_spelled(step):
    """bench/gpu/spelling_run.py, which looks after its own workers; `step` is spellings, goals or lengths."""

    def run_it(args, env, results):
        is_quick = args.quick and step == "spellings"
        run_workers(step, "spelling_run.py", 110 if is_quick else 300, args, env, results,
                    "--only", args.case, *(["--quick"] if is_quick else [f"--{step}"] if step != "spellings" else []))

    return run_it


def run_random(args, env, results):
    """bench/gpu/random_run.py, which looks after its own workers."""
    run_workers("random", "random_run.py", math.inf, args, env, results, "--seeds", args.seeds)


def run_types(args, env, results):
    """bench/gpu/types_run.py: typed expressions beside upstream's, bit by bit."""
    run_workers("types", "types_run.py", 200, args, env, results)


def run_workers(step, script, most, args, env, results, *options):
    """A script of bench/gpu that writes FOLDER/STEP.json, in the seconds that are left, `most` at most."""
    left = args.started + args.budget - time.monotonic()
    left -= min(60, left / 5) # in which what is under way ends
    command = [sys.executable, ROOT / "bench" / "gpu" / script, "--out", args.out, "--logs", args.work, "--jobs", args.jobs,
               "--budget", f"{min(most, left):.0f}", *options]
    errors = args.work / f"{step}-errors.log"
    status = follow(Process(command, args.work / f"{step}.log", env, errors), args.out / f"{step}.json", args.started + args.budget)
    if status != 0:
        say(f"the {step} ended with {status}; {errors.read_text(errors='replace')[-600:]}")
    results[step] = {"status": status}


def run_inductor(args, env, results):
    """torch.compile beside eager; a case that kills or hangs its process costs that case."""
    deadline, record = args.started + args.budget, args.out / "inductor.json"
    record.unlink(missing_ok=True)
    for attempt in range(8):
        command = [sys.executable, "-m", "tegula", ROOT / "bench" / "gpu" / "inductor.py", "--out", record, "--only", args.case,
                   "--budget", f"{deadline - time.monotonic() - 10:.0f}", *(["--resume"] if attempt else [])]
        process = Process(command, args.work / f"inductor-{attempt}.log", env, args.work / f"inductor-{attempt}-errors.log")
        status = follow(process, record, deadline)
        if status in (0, 1) or time.monotonic() > deadline - 20:
            break
    results["inductor"] = {"status": status}


def run_profile(args, env, results):
    """bench/gpu/profile_kernel.py with the arguments given."""
    command = [sys.executable, ROOT / "bench" / "gpu" / "profile_kernel.py", *shlex.split(args.profile)]
    process = Process(command, args.work / "profile.log", env)
    results["profile"] = {"status": process.wait_until(args.started + args.budget)}
    print(process.text(), end="", flush=True)


def follow(process, record, deadline):
    """Prints the log as it grows; the exit status, or None when it was killed."""
    changed, seen, last = time.monotonic(), 0, progress(record)
    while True:
        status = process.child.poll()
        text = process.text()
        print(text[seen:], end="", flush=True)
        seen = len(text)
        if status is not None:
            process.file.close()
            return status
        if progress(record) != last:
            changed, last = time.monotonic(), progress(record)
        if time.monotonic() - changed > SILENCE or time.monotonic() > deadline:
            process.kill()
            process.file.close()
            return None
        time.sleep(0.5)


def arguments(argv):
    parser = argparse.ArgumentParser(prog="./x gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--steps", default="set,tests,bench", help=f"of {','.join(STEPS)}; in the order given")
    parser.add_argument("--only", default="launch,softmax,vector_add,residual,layer_norm,wide_softmax,gemv,gemv_int3,compile",
                        help="parts of the benchmark")
    parser.add_argument("--quick", action="store_true", help="fewer spellings and configurations")
    parser.add_argument("--case", default="", help="spellings whose case has this text in its name")
    parser.add_argument("--seeds", default="0:300", metavar="FIRST:LAST,SEED,...", help="random kernels; each range without its last")
    parser.add_argument("--profile", default="'matmul, wrapped nn'", help="arguments of bench/gpu/profile_kernel.py")
    parser.add_argument("--budget", type=float, default=540, help="seconds for all of it")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--bundle", help="an archive of `./x bundle`, or its folder")
    parser.add_argument("--jobs", type=int, default=min(14, len(os.sched_getaffinity(0))))
    args = parser.parse_args(argv)
    args.steps = args.steps.split(",")
    for step in args.steps:
        if step not in STEPS:
            parser.error(f"no step `{step}`; there are: {' '.join(STEPS)}")
    args.started = time.monotonic()
    return args


def right(results):
    """True if what was checked was right; a benchmark that misses its goal is no fault."""
    tests = results.get("tests", {})
    if not isinstance(tests, dict) or tests.get("failures") or tests.get("shares that did not end"):
        return False
    if "tests" in results and not tests.get("outcomes"):  # a module that cannot be imported ends each share at once
        say("no test ran: see gpu-logs.txt")
        return False
    for suite in BESIDE:
        found = results.get(suite, {"differences": {}})
        if not isinstance(found, dict) or found["differences"].get("fail under Tegula only"):
            return False
    return "set" not in results or (isinstance(results["set"], dict) and results["set"]["status"] == 0)


def main(argv):
    args = arguments(argv)
    folder, package = library(args.bundle)
    compile_extension(package, folder)
    env = environment(folder, package)
    args.out.mkdir(parents=True, exist_ok=True)
    args.work = Path(tempfile.mkdtemp(prefix="tegula-gpu-"))
    results = {"library": str(folder)}
    steps = {**{suite: run_beside(suite) for suite in BESIDE}, "set": run_set, "tests": run_tests, "sanitize": run_sanitize, "bench": run_bench,
             "inductor": run_inductor, **{step: run_spelled(step) for step in ("spellings", "goals", "lengths")}, "random": run_random,
             "types": run_types, "profile": run_profile}
    for step in args.steps:
        say(f"--- {step} ({time.monotonic() - args.started:.0f} s)")
        try:
            steps[step](args, env, results)
        except Exception as error:  # one step must not cost the others
            results[step] = f"{type(error).__name__}: {error}"
            say(f"{step} failed: {results[step]}")
        (args.out / "gpu-tests.json").write_text(json.dumps(results, indent=1) + "\n")
    with open(args.out / "gpu-logs.txt", "w") as logs:
        for log in sorted(args.work.glob("*.log")):
            logs.write(f"=== {log.name}\n{log.read_text(errors='replace')[-60000:]}\n")
    say(f"done in {time.monotonic() - args.started:.0f} s; results in {args.out}")
    return 0 if right(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
