"""The harness of `./x bench gpu`, on the CPU: a clock that plays a GPU's, Tegula on both sides of the comparison."""
import json
import sys
import time
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parents[2] / "bench" / "gpu"


@pytest.fixture(scope="module", autouse=True)
def harness():
    before = list(sys.path)
    sys.path.insert(0, str(HERE))
    yield
    sys.path[:] = before


class CpuClock:
    """Answers as clock.Clock does; a graph is the list of its calls."""
    device, cache_bytes = "cpu", 1 << 12

    def finish(self):
        pass

    def events(self, call, count):
        return self.graph([call], 1, count)

    def record(self, calls):
        return list(calls)

    def graph(self, graph, launches, count):
        seconds = []
        for _ in range(count):
            started = time.perf_counter()
            for call in graph:
                call()
            seconds.append((time.perf_counter() - started) / launches)
        return seconds

    def host(self, call):
        return self.graph([call], 1, 1)[0]


PACKAGES = {"ours": "tegula", "upstream": "tegula"}


@pytest.fixture
def quick(monkeypatch):
    import host
    import rounds

    monkeypatch.setattr(rounds, "GRAPH_SECONDS", 1e-6)
    monkeypatch.setattr(rounds, "ROUNDS", 2)
    monkeypatch.setattr(rounds, "EVENTS", 1)
    monkeypatch.setattr(host, "REPEATS", 1)


def small_parts():
    import parts

    yield from parts.softmax(CpuClock, PACKAGES, rows=4, widths=(33, 64))
    yield from parts.wide_softmax(CpuClock, PACKAGES, shapes=((2, 300),))
    yield from parts.vector_add(CpuClock, PACKAGES, sizes=(2**10,))
    yield from parts.layer_norm(CpuClock, PACKAGES, rows=4, widths=(64,))
    yield from parts.residual(CpuClock, PACKAGES, rows=64, widths=(256,))
    yield from parts.gemv(CpuClock, PACKAGES, n=16, k=256, configurations=[(4, 128, 4)])
    yield from parts.gemv_int3(CpuClock, PACKAGES, n=16, k=256, configurations=[(4, 2, 4)])


def test_cases_are_right_and_measured(quick):
    import rounds
    import table

    kept = []
    for case in small_parts():
        result = rounds.measure(case, CpuClock(), lambda *what: kept.append(what))
        entries = result["contestants"]
        refused = "".join(row.get("failed", "") for row in entries["ours"]["configurations"].values())
        if "gather" in refused or "joining" in refused:
            assert "graph" not in entries["ours"] and "gemv_int3" in case.part
            continue
        assert set(entries) >= {"ours", "upstream", "ours again"}, (case.name, list(table.problems(result)))
        assert not list(table.problems(result)), case.name
        assert 0 < result["graph"]["ratio"] and 0 < result["graph"]["spread"] and result["sets"] >= 2
        assert case.name in table.line(result, 1e9)
    assert all(compiled is not None for name, label, compiled in kept if name != "torch" and name != "F.linear")


def test_a_wrong_result_is_not_timed(quick):
    import rounds
    import table

    def make(generator):
        return {"x": torch.ones(8), "out": torch.empty(8)}

    case = rounds.Case("part", "case", 64, make, ("out",), {
        "ours": [("writes half", lambda s: s["out"][:4].copy_(s["x"][:4]))],
        "upstream": [("fails", lambda s: 1 / 0), ("right", lambda s: s["out"].copy_(s["x"]))],
        "missing": ImportError("no such package"),
    }, lambda s: (s["out"] - s["x"]).norm().item(), 1e-6)
    result = rounds.measure(case, CpuClock())
    entries = result["contestants"]
    assert entries["ours"]["configurations"]["writes half"]["wrong"] and "graph" not in entries["ours"]
    assert entries["upstream"]["best"] == "right" and "ratio" not in result["graph"]
    assert "ZeroDivisionError" in entries["upstream"]["configurations"]["fails"]["failed"]
    assert "no such package" in entries["missing"]["failed"]
    assert len(list(table.problems(result))) == 3


def test_a_lost_device_ends_the_process_and_a_resumed_run_goes_on(quick, tmp_path, monkeypatch, capsys):
    import rounds
    import run

    def case(name, launch):
        return rounds.Case("part", name, 32, lambda generator: {"out": torch.empty(8)}, ("out",),
                           {"ours": [("", launch)]}, lambda s: 0.0, 1.0)

    def faults(tensors):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def two(clock, packages):
        yield case("first", faults)
        yield case("second", lambda s: s["out"].fill_(1))

    monkeypatch.setattr(run, "PARTS", {"part": two})
    record = run.Record(tmp_path, resume=False)
    assert run.measure_all(["part"], record, CpuClock(), 60) == run.DEVICE_LOST
    record = run.Record(tmp_path, resume=True)
    assert run.measure_all(["part"], record, CpuClock(), 60) == 0
    first, second = json.loads((tmp_path / "gpu.json").read_text())["results"]
    assert "illegal memory access" in first["fate"] and second["contestants"]["ours"]["graph"]["median"] > 0
    assert "device lost: RuntimeError" in capsys.readouterr().out


def test_a_run_that_was_killed_is_resumed_behind_its_case(tmp_path):
    import run

    record = run.Record(tmp_path, resume=False)
    record.begin_case("part", "endless")
    record = run.Record(tmp_path, resume=True)
    assert record.done() == {"endless"} and "hung" in record.data["results"][0]["fate"]


def test_host_time_of_a_launch(quick):
    import host
    import table

    result, = host.launch(CpuClock(), PACKAGES, rounds=3)
    assert result["host"]["ratio"] > 0 and set(result["contestants"]) == {"ours", "upstream", "torch.add", "ours again"}
    assert "ratio" in table.line(result)


def test_compile_times(quick):
    import host
    import table

    results = list(host.compile_times(CpuClock(), PACKAGES))
    names = {result["name"] for result in results}
    assert {"compile add_kernel", "compile gemv_int3_gather_kernel", "compile attention_kernel"} <= names
    for result in results:
        entry = result["contestants"]["ours"]
        if "failed" in entry:
            assert "gather" in entry["failed"] or "join" in entry["failed"]
            continue
        assert entry["milliseconds"] > 0 and entry["stages"], result["name"]
        assert result["compile"]["ratio, milliseconds"] > 0 and result["name"] in table.line(result)


def test_an_example_is_retargeted_by_its_two_imports():
    import sources

    text = "import tegula as triton\nimport tegula.language as tl\n"
    assert sources.retargeted(text, "triton") == "import triton as triton\nimport triton.language as tl\n"
    with pytest.raises(ValueError, match="0 times"):
        sources.retargeted("import tegula as triton\n", "triton")
    for path in sources.EXAMPLES.glob("[a-z]*.py"):
        assert "tegula" not in sources.retargeted(path.read_text(), "triton"), path.name


def test_packing_of_three_bits():
    import parts

    values = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 0]])
    word = sum(int(v) << 3 * i for i, v in enumerate(values[0]))
    assert parts.pack_int3(values).tolist() == [list(word.to_bytes(3, "little"))]


def test_errors_that_lose_the_device():
    import rounds

    assert "ValueError: x" == rounds.describe(ValueError("x"))
    with pytest.raises(rounds.DeviceLost):
        rounds.describe(RuntimeError("CUDA error: unspecified launch failure"))


def test_the_kernel_set_is_right_here(capsys):
    """What runs first on a GPU, on this machine's cores: a wrong kernel and a refused one are told apart."""
    import kernel_set

    found = {}
    kernel_set.run_all(CpuClock(), kernel_set.OURS, True, [], lambda name, rows: found.update({name: rows}))
    assert len(found) >= 14
    for name, rows in found.items():
        for _, text, right in rows:
            assert right or "CompilationError" in text and ("gather" in text or "joining" in text), (name, text)
    assert "ok    add 2^12 f32" in capsys.readouterr().out


def test_the_kernel_set_counts_what_is_wrong(capsys):
    import kernel_set

    bad = kernel_set.run_all(CpuClock(), {"ours": "no_such_package"}, True, ["add"], lambda name, rows: None)
    assert bad == 1 and "no_such_package" in capsys.readouterr().out


def test_tables_of_results(quick):
    import host
    import page
    import parts
    import rounds

    results = [rounds.measure(case, CpuClock()) for case in parts.vector_add(CpuClock, PACKAGES, sizes=(2**10,))]
    results += host.launch(CpuClock(), PACKAGES, rounds=2)
    results.append({"part": "gemv", "name": "lost", "contestants": {}, "fate": "the device was lost"})
    text = "\n".join(page.lines({"results": results, "copy bandwidth": 1e9}))
    assert "| add 2^10 f32 | " in text and "| launch of 5 arguments | " in text and "- lost: the device was lost" in text


@pytest.mark.parametrize("chosen, count", [("goals", 24), ("lengths", 8)])
def test_cases_name_each_spelling_by_its_purpose(chosen, count):
    import spelling_cases

    cases = spelling_cases.cases(chosen)
    assert len({case.name() for case in cases}) == len(cases) == count
    assert not [case for case in cases if case.spelling not in spelling_cases.spelled.ALL]


def test_each_fitted_cost_names_a_benchmark_that_guards_it():
    import re

    import form_cases
    import model_cases
    import more_work_cases
    import random_kernels
    import run
    import spelling_cases
    import work_cases

    table = (HERE.parents[1] / "src" / "ir" / "simt" / "Costs.def").read_text()
    rows = re.findall(r'^COST\(.*, "([^"]+)"\)$', table, re.M)
    purposes = {case.purpose.split(",")[0].split()[0] for case in spelling_cases.cases()}
    assert len(rows) == table.count("\nCOST(")
    works = {work.name for work in [*work_cases.WORK, *more_work_cases.WORK, *model_cases.WORK, *form_cases.WORK]}
    assert set(rows) <= {*run.PARTS, *purposes, *works, *random_kernels.names()}, purposes
    of_cores = (HERE.parents[1] / "src" / "targets" / "cpu" / "Costs.def").read_text()
    kernels = re.findall(r'^COST\(.*, "([^"]+)"\)$', of_cores, re.M)
    assert len(kernels) == of_cores.count("\nCOST(")
    of_launches = (HERE.parents[1] / "src" / "runtime" / "Costs.def").read_text()
    launched = re.findall(r'^COST\(.*, "([^"]+)"\)$', of_launches, re.M)
    assert len(launched) == of_launches.count("\nCOST(") > 0
    assert {*kernels, *launched} <= {path.stem for path in (HERE.parent / "cases").glob("*.py")}
    of_passes = "".join((HERE.parents[1] / "src" / module / "Bounds.def").read_text() for module in ("codegen/llvm", "ir/tile"))
    shapes = re.findall(r'^(?:PASS|PLAIN|BOUND)\([^#]*?"([^"]+)"\)$', of_passes, re.M)
    assert len(shapes) == len(re.findall(r"^(?:PASS|PLAIN|BOUND)\(", of_passes, re.M)) > 0
    text = (HERE.parents[1] / "test" / "growth" / "shapes.py").read_text()
    assert set(shapes) <= set(re.findall(r"^@shape\(.*\).*\ndef (\w+)", text, re.M))
