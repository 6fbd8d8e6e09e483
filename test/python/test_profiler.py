"""triton.profiler: sessions, what they record of launches, and their files. Launches are on the cores."""
import math
import os
import re

import numpy as np
import pytest
from profiles import alone, fill, finish, frame, launch, read, shape  # noqa: F401

import tegula as triton
import tegula.language as tl
import tegula.profiler as proton
from tegula.profiler import language, sessions, viewer


def test_launches_are_found_under_their_scopes():
    assert proton.start() == proton.start()
    launch()
    with proton.scope("outer"), proton.scope("inner", {"tokens": 2}):
        launch()
        launch()
    proton.finalize()
    root, devices = read()
    assert shape(root) == {"fill": 1, "outer": {"inner": {"fill": 2}}}
    assert root["frame"] == {"name": "ROOT", "type": "function"}
    assert root["metrics"] == {"time (ns)": 0, "count": 0, "tokens": 0}
    metrics = frame(root, "outer", "inner", "fill")["metrics"]
    assert metrics["time (ns)"] > 0 and metrics["device_type"] == "CPU" and metrics["device_id"] == "0"
    assert frame(root, "outer", "inner")["metrics"] == {"tokens": 2} and devices["CPU"]["0"]["arch"] == "native"
    assert os.listdir() == ["proton.hatchet"]


@pytest.mark.parametrize("hook", ["triton", "launch"])
def test_metadata_of_launches(hook):
    proton.start(hook=hook)
    launch(5)
    launch(5)
    launch(7)
    root = finish()
    assert shape(root) == {"fill [5]": 2, "fill [7]": 1}
    metrics = frame(root, "fill [5]")["metrics"]
    assert metrics["flops32"] == 20 and metrics["bytes"] == 40 and "others" not in metrics


def test_launches_of_launch_metadata_are_kept_apart():
    def launches(grid, metadata, args):
        launch()
        return {"flops": 1}

    @triton.jit(launch_metadata=launches)
    def outer(x_ptr, n, B: tl.constexpr):
        tl.store(x_ptr, 1.0)

    proton.start(hook="triton")
    launch(5, outer)
    root = finish()
    assert shape(root) == {"__proton_launch_metadata": {"fill [5]": 1}, "outer": 1}
    tree, _ = viewer.parse(["count"], "proton.hatchet")
    assert [child.name for child in tree.children] == ["outer"]


@pytest.mark.parametrize("metrics, error", [({"flops": "many"}, TypeError), ({"flops": math.inf}, ValueError),
                                            ({"name": 3}, TypeError)])
def test_metadata_that_is_no_number(metrics, error):
    @triton.jit(launch_metadata=lambda grid, metadata, args: metrics)
    def bad(x_ptr, n, B: tl.constexpr):
        tl.store(x_ptr, 1.0)

    proton.start(hook="triton")
    with pytest.raises(error, match="profiler: "):
        launch(5, bad)
    launch(5)
    assert shape(finish()) == {"fill [5]": 1}


def test_without_an_active_session_launches_have_no_hooks():
    hooks = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
    session = proton.start()
    assert all(hooks)
    proton.deactivate(session)
    assert not any(hooks)
    launch()
    proton.activate(session)
    launch()
    proton.deactivate()
    proton.deactivate()
    assert shape(finish()) == {"fill": 1} and not any(hooks)


def test_hooks_of_others_stay():
    seen = []
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.launch_enter_hook = lambda data: seen.append(data.get()["name"])
        proton.start()
        launch()
        proton.finalize()
        launch()
        triton.knobs.runtime.launch_enter_hook = None
    assert seen == ["fill [5]"] * 2 and shape(read()[0]) == {"fill": 1}


def test_two_sessions_at_once(tmp_path):
    first = proton.start("first", hook="triton")
    launch()
    second = proton.start(tmp_path / "second")
    with proton.scope("both", {"a": 1}):
        launch()
    proton.finalize(first)
    launch()
    proton.finalize(second)
    assert second == first + 1
    assert shape(read("first")[0]) == {"fill [5]": 1, "both": {"fill [5]": 1}}
    assert shape(read("second")[0]) == {"both": {"fill": 1}, "fill": 1}


def test_a_launch_that_fails_is_not_counted():
    proton.start()
    with triton.knobs.runtime.scope():
        def fail(data):
            raise KeyError("no")

        triton.knobs.runtime.launch_enter_hook.add(fail)
        with proton.scope("s"), pytest.raises(KeyError):
            launch()
        triton.knobs.runtime.launch_enter_hook.remove(fail)
        launch()
    assert shape(finish()) == {"s": None, "fill": 1}


def test_functions_as_context():
    proton.start(context="python")
    launch()
    with proton.scope("s", {"a": 1}):
        pass
    names = walk_names(finish())
    assert any(re.fullmatch(r"/.*/profiles\.py:\d+@launch", each) for each in names) and names.count("fill") == 1
    assert any(re.fullmatch(r"/.*/test_profiler\.py:\d+@test_functions_as_context", each) for each in names)
    assert not any("/tegula/" in each for each in names)
    tree, _ = viewer.parse(["a"], "proton.hatchet", include=".*@test_functions_as_context")
    assert [each.name for each in tree.walk()][-1] == "s"


def walk_names(node):
    return [node["frame"]["name"], *(name for child in node["children"] for name in walk_names(child))]


def test_profiled_functions():
    @proton.profile(name="inner")
    def inner(depth):
        launch()
        if depth:
            inner(depth - 1)
            launch()
        return depth

    @proton.profile
    def fails():
        launch()
        raise KeyError

    assert inner(1) == 1
    launch()
    with pytest.raises(KeyError):
        fails()
    launch()
    proton.finalize()
    assert shape(read("inner")[0]) == {"fill": 3} and shape(read()[0]) == {"fill": 1}


def test_autotuned_kernels_are_seen():
    @triton.autotune([triton.Config({"B": 8}), triton.Config({"B": 16})], key=["n"])
    @triton.jit
    def tuned(x_ptr, n, B: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, B), 3.0, mask=tl.arange(0, B) < n)

    x = np.zeros(16, np.float32)
    tuned[(1,)](x, 5)
    proton.start()
    tuned[(1,)](x, 5)
    assert shape(finish()) == {"tuned": 1}


@pytest.mark.parametrize("options, error", [
    ({"context": "stack"}, ValueError), ({"data": "trace"}, NotImplementedError), ({"data": "list"}, ValueError),
    ({"backend": "cupti"}, NotImplementedError), ({"backend": "instrumentation"}, NotImplementedError),
    ({"backend": "x"}, ValueError), ({"mode": "pcsampling"}, NotImplementedError), ({"hook": "x"}, ValueError),
    ({"name": 3}, TypeError), ({"name": ""}, ValueError), ({"name": "folder/"}, ValueError),
    ({"name": "nowhere/profile"}, FileNotFoundError)])
def test_sessions_that_are_refused(options, error):
    with pytest.raises(error, match="profiler: "):
        proton.start(**options)
    assert not sessions.are_any()


def test_numbers_of_sessions():
    proton.finalize()
    proton.deactivate()
    for function in (proton.activate, proton.deactivate, proton.finalize):
        with pytest.raises(RuntimeError, match="no session 100000"):
            function(100000)
        with pytest.raises(TypeError, match="number"):
            function("proton")
    session = proton.start()
    with pytest.raises(ValueError, match="another context or hook"):
        proton.start(hook="triton")
    with pytest.raises(NotImplementedError):
        proton.finalize(session, "chrome_trace")
    with pytest.raises(ValueError):
        proton.finalize(session, "text")
    proton.finalize(session, "")
    with pytest.raises(RuntimeError, match="is finalized"):
        proton.finalize(session)


def test_a_file_that_cannot_be_written_leaves_the_session(tmp_path):
    (tmp_path / "folder").mkdir()
    lost, kept = proton.start("folder/lost"), proton.start("kept")
    launch()
    (tmp_path / "folder").rmdir()
    with pytest.raises(OSError):
        proton.finalize()
    assert shape(read("kept")[0]) == {"fill": 1} and os.listdir() == ["kept.hatchet"] and lost < kept
    (tmp_path / "folder").mkdir()
    proton.finalize(lost)
    assert shape(read("folder/lost")[0]) == {"fill": 1} and os.listdir("folder") == ["lost.hatchet"]


def test_switched_off(monkeypatch):
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    assert proton.start() is None
    proton.activate(0)
    proton.deactivate(0)
    launch()
    proton.finalize()
    assert not os.listdir()


def test_a_session_that_nobody_finalizes_says_so(python):
    done = python("import tegula.profiler as proton\nproton.start()\n")
    assert done.returncode == 0 and "was not finalized" in done.stderr


def test_marks_in_kernels_do_nothing():
    @triton.jit
    def marked(x_ptr):
        language.enter_scope("a")
        tl.store(x_ptr, 3.0)
        language.exit_scope("a")

    x = np.zeros(1, np.float32)
    marked[(1,)](x)
    assert x[0] == 3
    for refused in (lambda: language.scope("a"), lambda: language.enable_semantic("triton"), proton.mode.Default,
                    lambda: viewer.read("x")):
        with pytest.raises(NotImplementedError, match="profiler: "):
            refused()


def test_what_is_recorded_is_read_in_memory():
    session = proton.start("memory")
    with proton.scope("one"):
        launch()
    proton.deactivate(session, flushing=True)
    root, devices = proton.data.get(session)
    assert [child["frame"]["name"] for child in root["children"]] == ["one"] and devices
    assert root["children"][0]["children"][0]["metrics"]["count"] == 1
    assert proton.data.is_phase_complete(session) and proton.data.get(None) is None
    proton.data.clear(session)
    assert proton.data.get(session)[0]["children"] == []
    for refused in (proton.data.get_msgpack, proton.data.advance_phase):
        with pytest.raises(NotImplementedError, match="hint"):
            refused(session)
    with pytest.raises(ValueError, match="phase"):
        proton.data.get(session, 1)
    proton.finalize(session)


def test_launches_in_the_state_of_metadata_are_not_shown(capsys):
    session = proton.start("state")
    for name in (None, "fill"):
        with proton.metadata_state(name):
            launch()
    with proton.scope("shown"):
        launch()
    proton.finalize(session)
    frame, names = viewer.parse(["time/ms"], "state.hatchet")
    viewer.print_tree(frame, names)
    out = capsys.readouterr().out
    assert "__proton" not in out and "shown" in out


def test_kernels_of_a_call_are_measured():
    calls = []
    mean = triton.testing.do_bench_proton(lambda: calls.append(1) or launch(), warmup=1, rep=2)
    assert mean > 0 and len(calls) > 6 and not sessions.are_any()
    both = triton.testing.do_bench_proton(lambda: (launch(), launch()), warmup=1, rep=2, quantiles=[0.2, 0.8])
    assert 0 < both[0] <= both[1]
    with pytest.raises(RuntimeError, match="launches none"):
        triton.testing.do_bench_proton(lambda: None, warmup=1, rep=1)
    with pytest.raises(NotImplementedError, match="do_bench_cudagraph"):
        triton.testing.do_bench_cudagraph_proton(launch)
