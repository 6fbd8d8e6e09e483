"""triton.profiler: scopes and states, their metrics and times, exceptions inside of them, threads."""
import math
import threading
import time

import numpy as np
import pytest
from profiles import alone, finish, frame, launch, read, shape  # noqa: F401

import tegula.profiler as proton
from tegula.profiler import scopes, viewer


def test_metrics_of_scopes():
    proton.start()
    for _ in range(2):
        with proton.scope("added", {"a": 1, "b": 0.5, "c (exc)": 2, "d (pty)": "text", "e (pty)": 4, "n": np.float32(2)}):
            pass
    proton.enter_scope("late")
    proton.exit_scope("late", metrics={"b": 1})
    root = finish()
    assert frame(root, "added")["metrics"] == {"a": 2, "b": 1.0, "c": 4, "d": "text", "e": 4, "n": 4.0}
    assert root["metrics"] == {"a": 0, "b": 0, "n": 0} and frame(root, "late")["metrics"] == {"b": 1}


@pytest.mark.parametrize("name, metrics, error", [
    ("s", {"a": "1"}, TypeError), ("s", {1: 1}, TypeError), ("s", {"time (ns)": 1}, ValueError),
    ("s", {"count": 1}, ValueError), ("s", {"a": math.nan}, ValueError), ("s", {"": 1}, ValueError), ("s", [1], TypeError),
    (3, None, TypeError), ("", None, TypeError)])
def test_scopes_that_are_refused_leave_nothing_open(name, metrics, error):
    assert proton.context.depth() is None
    session = proton.start()
    with pytest.raises(error, match="profiler: "), proton.scope(name, metrics):
        pass
    with pytest.raises(error, match="profiler: "):
        proton.enter_scope(name, metrics=metrics)
    assert proton.context.depth(session) == 0 and not scopes.entries()


def test_a_scope_stays_open_where_exit_scope_refuses_its_metrics():
    proton.start()
    proton.enter_scope("a")
    with pytest.raises(TypeError):
        proton.exit_scope(metrics={"b": None})
    assert scopes.entries()[0].name == "a" and proton.exit_scope() is not None


def test_an_exception_closes_scopes():
    @proton.scope("decorated", {"a": 1})
    def fail(depth):
        proton.enter_scope("left open")
        return fail(depth - 1) if depth else launch() or {}["no"]

    proton.start()
    with pytest.raises(KeyError):
        fail(1)
    launch()
    root = finish()
    assert shape(root)["fill"] == 1 and fail.__name__ == "fail"
    assert frame(root, "decorated", "left open", "decorated")["metrics"] == {"a": 1}


def test_scopes_that_do_not_fit():
    assert proton.exit_scope() is None and proton.enter_scope("before") is None
    proton.start()
    proton.enter_scope("a")
    with pytest.raises(ValueError, match="is to close `b`"):
        proton.exit_scope("b")
    proton.exit_scope("a")
    launch()
    proton.exit_scope()
    with pytest.raises(RuntimeError, match="none is open"):
        proton.exit_scope()
    with proton.scope("block"), pytest.raises(RuntimeError, match="with block's"):
        proton.exit_scope()
    with pytest.raises(RuntimeError, match="exit_state"):
        proton.exit_state()
    assert shape(finish()) == {"before": {"a": None, "fill": 1}, "block": None}


def test_functions_that_return_before_they_run():
    async def body():
        pass

    for decorate in (proton.scope("s"), proton.state("s")):
        with pytest.raises(TypeError, match="write `with` inside"):
            decorate(body)
        with pytest.raises(TypeError, match="decorates functions"):
            decorate(3)


def test_states():
    session = proton.start()
    with proton.scope("s"), proton.state("one"):
        launch()
        with proton.state("two"), proton.scope("t", {"a": 1}):
            launch()
        assert proton.context.depth(session) == 2

    @proton.state("three")
    def run():
        launch()

    run()
    assert shape(finish()) == {"s": {"one": {"fill": 1}, "t": {"two": {"fill": 1}}}, "three": {"fill": 1}}


def test_time_of_the_host():
    proton.start()
    for _ in range(2):
        with proton.cpu_timed_scope("s", {"a": 1}):
            time.sleep(0.002)
    metrics = frame(finish(), "s")["metrics"]
    assert metrics["cpu_time (ns)"] > 4e6 and metrics["a"] == 2
    with pytest.raises(ValueError, match="cpu_time"):
        proton.cpu_timed_scope("s", {"cpu_time": 1})


def test_a_scope_with_work_in_which_nothing_else_is_timed_has_its_own_time():
    proton.start()
    for _ in range(2):
        with proton.scope("step", {"flops": 10}):
            with proton.scope("library", {"flops16": 1e6, "bytes": 10}):
                time.sleep(0.002)
            with proton.scope("plain", {"tokens": 1}):
                time.sleep(0.002)
        with proton.scope("ours", {"flops16": 1e6}):
            launch()
        with pytest.raises(KeyError), proton.scope("fails", {"bytes": 1}):
            raise KeyError
    root = finish()
    assert shape(root) == {"step": {"library": {"<whole scope>": 2}, "plain": None}, "ours": {"fill": 2},
                           "fails": {"<whole scope>": 2}}
    assert frame(root, "step", "library", "<whole scope>")["metrics"]["time (ns)"] > 4e6


def test_a_pause_inside_of_a_scope():
    session = proton.start()
    with proton.scope("paused", {"flops": 1}):
        proton.deactivate(session)
        proton.activate(session)
    with proton.scope("ended", {"flops": 1}):
        proton.finalize(session)
    assert shape(read()[0]) == {"paused": None, "ended": None}


def test_a_session_knows_the_scopes_it_is_started_in():
    with proton.scope("outer"):
        session = proton.start()
        launch()
        proton.deactivate(session)
        with proton.scope("unseen", {"a": 1}):
            launch()
    assert shape(finish()) == {"outer": {"fill": 1}}


def test_threads():
    """One without scopes works under the main thread's; one with scopes keeps those that it began under."""
    entered, left = threading.Barrier(2), threading.Barrier(2)
    proton.start()

    def work():
        launch()
        with proton.scope("theirs"):
            entered.wait(10)
            left.wait(10)
            launch()
        assert not scopes.entries()
        launch()

    with proton.scope("main"):
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait(10)
        with proton.scope("mine"):
            launch()
    left.wait(10)
    thread.join()
    assert shape(finish()) == {"main": {"fill": 1, "mine": {"fill": 1}, "theirs": {"fill": 1}}, "fill": 1}


def test_many_threads_lose_nothing():
    launch()
    proton.start(hook="triton")

    def work(index):
        for _ in range(50):
            with proton.scope("all", {"a": 1}), proton.scope(f"thread {index % 3}"):
                launch()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    root = finish()
    assert frame(root, "all")["metrics"] == {"a": 300}
    assert shape(root)["all"] == {f"thread {index}": {"fill [5]": 100} for index in range(3)}


def test_scopes_within_scopes_without_end():
    proton.start()

    def down(depth):
        with proton.scope(f"level {depth}"):
            return down(depth - 1) if depth else launch()

    down(150)
    proton.finalize()
    tree, _ = viewer.parse(["count"], "proton.hatchet")
    frames = list(tree.walk())
    assert len(frames) > 99 and tree.values["count (inc)"] == 1 and any(each.name == "<deeper>" for each in frames)
