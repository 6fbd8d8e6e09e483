"""No program shape makes the compiler slow, or end: see shapes.py.

CI grows each shape for a fraction of a second, and prints the exponents. A test fails where a compile crashes, hangs, or is
refused for another reason than a stated bound; where a shape stays steep in ever longer series, if the machine has nothing
else to do, since times beside others tell little. `./x bench growth` asks more, of longer runs.
"""
import os
import statistics
import subprocess
import sys

import pytest

import growth
import shapes

MOST = 1.35  # all series of ten seconds are below 1.3, beside other load, too: a series below that is flat
STEEP = 1.6  # what is quadratic is above; between the two lies what a machine with other guests makes of a flat one
# Of the largest compile of a series: longer ones where a shorter one is steep or tells nothing. The last is another try.
SECONDS = (0.1, 0.5, 2.0, 2.0)
REFUSALS = ("TileTooLarge", "NestingTooDeep", "RecursionTooDeep", "FileTooLarge", "ConstTooLarge", "TooLarge", "TooMany",
            "TooDeep", "TooLong", "TargetTooSmall", "OperationBudget")  # names of diagnostics that state a bound


def is_quiet():
    return os.getloadavg()[0] < max(2, len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("target", growth.TARGETS)
@pytest.mark.parametrize("name", shapes.SHAPES)
def test_compile_time_grows_with_the_program(name, target, figures):
    for seconds in SECONDS:
        series = growth.run(name, target, seconds)
        figures.append(growth.line_of(series))
        assert not series["fault"], series["fault"]
        assert not series["refusal"] or any(word in series["refusal"] for word in REFUSALS), series["refusal"]
        flat = series["exponent"] is not None and series["exponent"] <= MOST
        untold = series["exponent"] is None and (series["refusal"] or seconds >= SECONDS[1])
        if flat or untold:
            return
    figures.append(f"  steep: exponent {series['exponent']:.2f}: " + ", ".join(
        f"{point['n']}: {point['seconds']:.2f} s" for point in series["points"]))
    assert not growth.is_steep(series, STEEP) or not is_quiet(), figures[-1]


def test_a_steep_series_is_seen():
    points = [{"n": 0, "seconds": 0.01}, *({"n": n, "seconds": 0.01 + 1e-6 * n ** 2} for n in (64, 128, 256, 512, 1024))]
    assert growth.exponent(points) == pytest.approx(2.0, abs=0.01)
    assert growth.exponent(points[:3]) is None
    steep = {"exponent": 2.0, "points": points}
    assert growth.is_steep(steep, MOST) and not growth.is_steep(steep, 2.1)
    assert not growth.is_steep({"exponent": 2.0, "points": points[:3]}, MOST)


def test_a_series_that_a_budget_ends_early_is_counted_by_itself():
    points = [{"n": 0, "seconds": 0.01}, *({"n": n, "seconds": 0.01 + 1e-6 * n ** 2} for n in (64, 128, 256, 512))]
    series = {"exponent": 2.0, "points": points, "refusal": "nested more than 200 levels deep", "fault": ""}
    assert growth.ends_early(series) and not growth.is_steep(series, MOST)
    assert not growth.ends_early({**series, "refusal": ""})
    assert not growth.ends_early({**series, "points": [*points, {"n": 1024, "seconds": 1.06}]})


# Launches kernels of modules of their own, all of which stay; prints the CPU seconds of each launch.
BESIDE_OTHERS = """
import importlib.util, pathlib, sys, time
import numpy as np
folder, kept = pathlib.Path(sys.argv[1]), []
for i in range(int(sys.argv[2])):
    path = folder / f"kernel{i}.py"
    path.write_text(f"import tegula\\nimport tegula.language as tl\\n@tegula.jit\\ndef k(x, B: tl.constexpr):\\n    at = x + tl.arange(0, B)\\n"
                    f"    tl.store(at, tl.load(at) + {i})\\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    kept.append(importlib.util.module_from_spec(spec))
    spec.loader.exec_module(kept[-1])
    x = np.zeros(16, np.float32)
    began = time.process_time()
    kept[-1].k[(1,)](x, B=16)
    print(time.process_time() - began)
    assert (x == i).all()
"""


@pytest.mark.parametrize("target, count", [("interp", 800), ("cpu", 300)])
def test_a_kernel_takes_as_long_beside_many_others(target, count, tmp_path, figures):
    environment = {**os.environ, "TEGULA_TARGET": target, "TRITON_ALWAYS_COMPILE": "1"}
    done = subprocess.run([sys.executable, "-c", BESIDE_OTHERS, tmp_path, str(count)], env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    seconds = [float(line) for line in done.stdout.split()]
    early, late = (statistics.median(part) for part in (seconds[50:150], seconds[-100:]))
    figures.append(f"kernels beside others, {target}: {early * 1e3:.1f} ms beside 100, {late * 1e3:.1f} ms beside {count}")
    assert late < STEEP * early or not is_quiet(), figures[-1]
