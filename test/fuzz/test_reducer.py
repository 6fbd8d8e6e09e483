"""The reducer keeps what a failure needs and drops the rest; a run of its own survives what ends it."""
import os
import signal
import time

import isolated
from generator import generate
from reduce import SHRINKS, parts, shrink


def valid(source):
    try:
        compile(source, "program", "exec")
    except SyntaxError:
        return False
    return True


def test_what_the_failure_needs_stays():
    program = generate(12, "pointers")

    def fails(candidate):
        assert valid(candidate.source), candidate.source
        source = candidate.source
        return "ptr47, ptr48, ptr49 = ptr48, ptr49, ptr47" in source and "for i50" in source and "tl.store(ptr48" in source

    smallest = shrink(program, fails)
    body = [line.strip() for line in parts(smallest)[1]]
    assert len(body) == 3 and body[0] == "for i50 in range(trips4):"
    assert smallest.scalars == {"trips4": 0} and not smallest.buffers


def test_each_shrink_is_a_program():
    for form in ("", "moving", "pointers"):
        for seed in range(5):
            program = generate(seed, form)
            for smaller in SHRINKS:
                for candidate in smaller(program):
                    assert valid(candidate.source), candidate.source


def behave(how):
    if how == "differs":
        raise AssertionError("seed 1, p0 (int32): 1 of 2 elements differ, first at 0: interp 1, cpu 2")
    if how == "error":
        raise ValueError("no good")
    if how == "died":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hangs":
        time.sleep(60)
    if how == "unusable":
        raise isolated.Unusable("no device")


def test_each_end_is_an_answer():
    kinds = {how: isolated.run_one(behave, how, seconds=1) for how in ("fine", "differs", "error", "died", "hangs")}
    assert kinds["fine"] is None
    assert all(kinds[how].kind == how for how in kinds if how != "fine")
    assert kinds["differs"].signature() == ("differs", ("interp", "cpu"))
    assert kinds["error"].signature() == ("error", "ValueError: no good")


def test_a_death_ends_its_own_call_only():
    made, failures = isolated.run_some(behave, ["fine", "error", "died", "fine"], seconds=5)
    assert made == 3 and set(failures) == {1, 2}
    made, failures = isolated.run_some(behave, ["fine", "unusable", "fine"], seconds=5)
    assert made == 2 and failures[1].kind == "error" and "no device" in failures[1].text
