"""500 random programs: `interp`, `cpu` and plain Python leave the same memory behind, within the numerical contract."""
import pytest

import devices
from differences import check, compare, kernel_of, run
from generator import generate

PROGRAMS = 500
OVERLAPPING = 150
MOVING = 200
HELD = 150
POINTERS = 100
EXITS = 100
ON_DEVICE = {"sim": 20, "cuda": 150}
MOVING_ON_DEVICE = {"sim": 20, "cuda": 100}
HELD_ON_DEVICE = {"sim": 15, "cuda": 100}
POINTERS_ON_DEVICE = {"sim": 40, "cuda": 100}
EXITS_ON_DEVICE = {"sim": 20, "cuda": 100}


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_agree(seed, tmp_path):
    check(generate(seed), tmp_path)


@pytest.mark.parametrize("seed", range(OVERLAPPING))
def test_agree_where_arguments_overlap(seed, tmp_path):
    """M1, M2, M6, M7, M13: what the guards of the CPU target are for"""
    check(generate(seed, "overlapping"), tmp_path)


@pytest.mark.parametrize("seed", range(MOVING))
def test_agree_where_elements_move(seed, tmp_path):
    check(generate(seed, "moving"), tmp_path)


@pytest.mark.parametrize("seed", range(HELD))
def test_agree_where_results_are_held(seed, tmp_path):
    check(generate(seed, "held"), tmp_path)


@pytest.mark.parametrize("seed", range(POINTERS))
def test_agree_where_addresses_are_chosen(seed, tmp_path):
    check(generate(seed, "pointers"), tmp_path)


@pytest.mark.parametrize("seed", range(EXITS))
def test_agree_where_paths_leave_early(seed, tmp_path):
    check(generate(seed, "exits"), tmp_path)


def device_cases(counts):
    marks = {"sim": pytest.mark.sim, "cuda": pytest.mark.gpu}
    return [pytest.param(device, seed, marks=marks[device], id=f"{device}-{seed}")
            for device, count in counts.items() for seed in range(count)]


def check_on_device(program, folder, device, monkeypatch):
    devices.use(device, monkeypatch)
    kernel = kernel_of(program, folder)
    compare(program, "interp", run(program, kernel, "interp"), device, run(program, kernel, devices.TARGET_OF[device]))


@pytest.mark.parametrize("target, seed", device_cases(ON_DEVICE))
def test_devices_agree(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed), tmp_path, target, monkeypatch)


@pytest.mark.parametrize("target, seed", device_cases(MOVING_ON_DEVICE))
def test_devices_agree_where_elements_move(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed, "moving"), tmp_path, target, monkeypatch)


@pytest.mark.parametrize("target, seed", device_cases(HELD_ON_DEVICE))
def test_devices_agree_where_results_are_held(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed, "held"), tmp_path, target, monkeypatch)


@pytest.mark.parametrize("target, seed", device_cases(POINTERS_ON_DEVICE))
def test_devices_agree_where_addresses_are_chosen(target, seed, tmp_path, monkeypatch):
    """M12: `ptxvm` reports a barrier that is missing as a race."""
    check_on_device(generate(seed, "pointers"), tmp_path, target, monkeypatch)


@pytest.mark.parametrize("target, seed", device_cases(EXITS_ON_DEVICE))
def test_devices_agree_where_paths_leave_early(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed, "exits"), tmp_path, target, monkeypatch)


def test_generator_is_deterministic():
    assert all(generate(seed).source == generate(seed).source for seed in range(20))


def test_programs_are_of_many_kinds():
    """The generator must not silently stop making what it is for."""
    text = "".join(generate(seed).source for seed in range(PROGRAMS))
    for form in ["tl.where", "tl.sum", "tl.max(", "//", "<<", ">>", "for i", "if ", "else:", ".to(tl.bfloat16)", "tl.exp",
                 "tl.sqrt", "other=", "[:, None]", "ptr", "tl.maximum", "~", " % "]:
        assert text.count(form) >= 10, form
    text = "".join(generate(seed, "moving").source for seed in range(MOVING))
    for form in ["tl.cumsum", "tl.cumprod", "reverse=True", "tl.gather", "tl.flip", "tl.join", "tl.cat", "tl.interleave",
                 "tl.histogram"]:
        assert text.count(form) >= 5, form
