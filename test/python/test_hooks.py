"""Hooks around launches and compiles, and other switches of triton.knobs."""
import gc

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@pytest.fixture(autouse=True)
def fresh():
    with triton.knobs.runtime.scope():
        yield
    triton.knobs.runtime.reset()


def describe(grid, metadata, args):
    return {"flops": 2 * args["n"], "grid": grid, "warps": metadata.num_warps}


def make(**options):
    @triton.jit(**options)
    def fill(x_ptr, n, B: tl.constexpr):
        offsets = tl.arange(0, B)
        tl.store(x_ptr + offsets, 3.0, mask=offsets < n)

    return fill


def test_around_launches():
    seen = []
    triton.knobs.runtime.launch_enter_hook.add(lambda data: seen.append(("enter", data.get())))
    triton.knobs.runtime.launch_exit_hook.add(lambda data: seen.append(("exit", data.get()["flops"])))
    x = np.zeros(8, np.float32)
    make(launch_metadata=describe)[lambda meta: (meta["B"] // 8,)](x, 5, B=8, num_warps=2)
    assert (x[:5] == 3).all() and not x[5:].any() and len(seen) == 2
    assert seen[0][1]["name"] == "fill" and seen[0][1]["flops"] == 10 and seen[0][1]["grid"] == (1,)
    assert seen[1] == ("exit", 10)


def test_no_hooks_no_calls():
    seen = []
    hook = seen.append
    triton.knobs.runtime.launch_enter_hook.add(hook)
    triton.knobs.runtime.launch_enter_hook.remove(hook)
    make()[(1,)](np.zeros(8, np.float32), 5, B=8)
    assert not seen


def test_once_a_compile():
    seen, after = [], []
    triton.knobs.runtime.jit_cache_hook = lambda **told: seen.append(told)
    triton.knobs.runtime.jit_post_compile_hook = lambda **told: after.append(told["key"])
    kernel, x = make(), np.zeros(64, np.float32)
    for n in (5, 7, 16, 1):
        kernel[(1,)](x, n, B=64)
    assert len(seen) == len(after) == 3 and len(set(after)) == 3
    told = seen[0]["compile"]
    assert told["signature"] == {"x_ptr": "*fp32", "n": "i32", "B": "constexpr"} and told["constants"] == {(2,): 64}
    assert seen[0]["fn"].jit_function is kernel and "num_warps=4" in seen[0]["repr"] and not seen[0]["is_manual_warmup"]


def test_a_hook_may_skip_the_compile():
    triton.knobs.runtime.jit_cache_hook = lambda **told: True
    x = np.zeros(8, np.float32)
    assert make()[(1,)](x, 5, B=8) is None and not x.any()


def test_what_is_compiled_is_not_told_of():
    kernel, x, told = make(), np.zeros(8, np.float32), []
    kernel[(1,)](x, 5, B=8)
    triton.knobs.runtime.jit_cache_hook = lambda **each: told.append(each["key"]) or True
    x[:] = 0
    for n in (5, 7):
        assert kernel[(1,)](x, n, B=8) is not None and (x[:n] == 3).all()
    assert not told and kernel[(1,)](x, 5, B=4) is None and len(told) == 1
    kernel.device_caches.clear()
    assert kernel[(1,)](x, 5, B=8) is None and len(told) == 2


def test_a_number_is_no_grid_with_hooks_either():
    triton.knobs.runtime.launch_enter_hook.add(lambda data: None)
    with pytest.raises(triton.LaunchError, match="the grid is the int 1"):
        make()[1](np.zeros(8, np.float32), 5, B=8)


def test_caches_by_device_are_a_dictionary():
    kernel, x = make(), np.zeros(8, np.float32)
    caches = kernel.device_caches
    assert caches.get(0) is None and caches.pop(0, 3) == 3 and 0 not in caches and not caches
    first = kernel[(1,)](x, 5, B=8)
    second = kernel[(1,)](x, 5, B=4)
    assert len(caches) == 1 and set(caches.get(0)[0].values()) == {first, second}
    key = next(key for key, made in caches[0][0].items() if made is first)
    assert caches[0][0].pop(key) is first and list(caches[0][0].values()) == [second]
    assert set(caches.pop(0)[0].values()) == {second} and 0 not in caches
    for empty in (lambda: caches.clear(), lambda: caches.__delitem__(0), lambda: caches[0][0].clear(),
                  lambda: caches.__setitem__(0, ({}, {}, None, None, None))):
        made = kernel[(1,)](x, 5, B=8)
        assert 0 in caches
        empty()
        assert not caches and kernel[(1,)](x, 5, B=8) is not made and (x[:5] == 3).all()


def test_the_switches_of_the_process_are_reset_and_hooks_stay():
    triton.knobs.runtime.launch_enter_hook.add(print)
    triton.knobs.runtime.jit_cache_hook = hook = lambda **each: None
    triton.knobs.runtime.debug = True
    triton.knobs.runtime.reset()
    assert triton.knobs.runtime.jit_cache_hook is hook and triton.knobs.runtime.launch_enter_hook.calls == [print]
    assert "debug" not in vars(triton.knobs.runtime)


def test_before_runs_of_one_kernel():
    seen, kernel, x = [], make(), np.zeros(8, np.float32)
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((args[1], kwargs)))
    kernel[(1,)](x, 5, B=8)
    make()[(1,)](x, 6, B=8)
    assert seen == [(5, {"B": 8})]


def test_around_bound_launches():
    seen, kernel = [], make(launch_metadata=describe)
    x = np.zeros(8, np.float32)
    bound = kernel[(1,)].bind(x, n=5, B=8)
    triton.knobs.runtime.launch_enter_hook.add(lambda data: seen.append(("enter", data.get(), x[0])))
    triton.knobs.runtime.launch_exit_hook.add(lambda data: seen.append(("exit", data.get()["flops"], x[0])))
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((args[0] is x, kwargs, x[0])))
    bound["n"] = 6
    bound()
    assert (x[:6] == 3).all() and not x[6:].any() and len(seen) == 3
    assert seen[0] == (True, {"n": 6, "B": 8}, 0)
    assert seen[1][0] == "enter" and seen[1][1]["flops"] == 12 and seen[1][1]["grid"] == (1, 1, 1) and seen[1][2] == 0
    assert seen[2] == ("exit", 12, 3)


def test_a_hook_that_fails_keeps_a_bound_call_from_running():
    x, kernel = np.zeros(8, np.float32), make()
    bound = kernel[(1,)].bind(x, 5, B=8)

    def fail(data):
        raise KeyError("no")

    triton.knobs.runtime.launch_enter_hook.add(fail)
    with pytest.raises(KeyError):
        bound()
    assert not x.any()
    triton.knobs.runtime.launch_enter_hook.remove(fail)
    bound()
    assert (x[:5] == 3).all()


def test_hooks_of_compiles_are_called_where_a_call_is_bound():
    seen, kernel, x = [], make(), np.zeros(8, np.float32)
    triton.knobs.runtime.jit_cache_hook = lambda **told: seen.append(told["repr"])
    kernel[(1,)].bind(x, 5, B=8)()
    kernel[(1,)](x, 5, B=8)
    assert len(seen) == 1
    triton.knobs.runtime.jit_cache_hook = lambda **told: True
    with pytest.raises(triton.LaunchError, match="hook refuses"):
        make()[(1,)].bind(x, 5, B=8)


def test_debug_at_run_time():
    @triton.jit
    def check(x_ptr):
        tl.device_assert(tl.load(x_ptr) == 0, "not zero")

    check[(1,)](np.ones(1, np.float32))
    triton.knobs.runtime.debug = True
    with pytest.raises(triton.DeviceAssertionError, match="not zero"):
        check[(1,)](np.ones(1, np.float32))


def test_switches_read_the_environment(monkeypatch):
    knobs = triton.knobs
    monkeypatch.setenv("TRITON_CACHE_DIR", "/somewhere")
    assert knobs.cache.dir == "/somewhere" and knobs.autotuning.print is False
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    assert knobs.autotuning.print is True
    with knobs.autotuning.scope():
        knobs.autotuning.print = False
        assert knobs.autotuning.print is False
    assert knobs.autotuning.print is True
    monkeypatch.setenv("TRITON_REDIS_PORT", "many")
    with pytest.raises(RuntimeError, match="TRITON_REDIS_PORT"):
        knobs.redis.port


def test_a_switch_that_nothing_obeys_says_so():
    with pytest.warns(UserWarning, match="nothing here obeys"), triton.knobs.compilation.scope():
        triton.knobs.compilation.enable_asan = True


def test_around_loading_code():
    seen, kernel, x = [], make(), np.zeros(8, np.float32)
    triton.knobs.runtime.kernel_load_start_hook.add(lambda *told: seen.append(("start", *told)))
    triton.knobs.runtime.kernel_load_end_hook.add(lambda *told: seen.append(("end", *told)))
    compiled = kernel.warmup(x, 5, B=8, grid=(1,))
    assert not seen
    for _ in range(2):
        assert kernel[(1,)](x, 5, B=8) is compiled
    told = (compiled.module, compiled.function, "fill", compiled.metadata_group, compiled.hash)
    assert seen == [("start", *told), ("end", *told)] and len(compiled.hash) == 64
    other = triton.compile(triton.compiler.ASTSource(kernel, {"x_ptr": "*fp32", "n": "i32"}, {"B": 16}))
    other._init_handles()
    other._init_handles()
    assert [row[0] for row in seen[2:]] == ["start", "end"] and seen[2][5] == other.hash


def test_where_code_is_dropped():
    gc.collect()  # kernels of other tests
    told, kernel, x = [], make(), np.zeros(8, np.float32)
    triton.knobs.runtime.kernel_unload_hook.add(lambda module, function, name, group, key: told.append((name, key)))
    kernel.warmup(x, 5, B=4, grid=(1,))
    kernel.device_caches.clear()
    assert not told  # it never reached a device
    made = kernel[(1,)](x, 5, B=8)
    key = made.hash
    kernel.device_caches.clear()
    assert not told
    del made
    gc.collect()
    assert told == [("fill", key)]


def test_a_listener_of_compiles_is_told_of_launches(tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    told = []
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.listener = lambda **kwargs: told.append(kwargs)
        kernel, x = make(), np.zeros(8, np.float32)
        for n in (5, 7, 16):
            kernel[(1,)](x, n, B=8)
        make()[(1,)](x, 5, B=8)
    kernel[(1,)](x, 1, B=8)
    assert [row["src"].signature["n"] for row in told] == ["i32"] * 3
    assert told[0]["src"].fn is kernel and told[0]["src"].constants == {(2,): 8} and told[0]["metadata"]["name"] == "fill"
    assert told[0]["times"].total > 0 and not told[0]["cache_hit"] and told[2]["cache_hit"]


def test_the_environment_answers_again(monkeypatch):
    knobs = triton.knobs
    monkeypatch.setattr(knobs, "propagate_env", False)
    monkeypatch.setenv("TRITON_DUMP_DIR", "/one")
    with knobs.cache.scope():
        knobs.cache.dump_dir = "/two"
        assert knobs.cache.dump_dir == "/two"
        knobs.cache.dump_dir = knobs.env
        assert knobs.cache.dump_dir == "/one"
    monkeypatch.setenv("TRITON_CUDART_PATH", "/three")
    assert "/three" in knobs.build.backend_dirs


def test_programs_of_the_vendor_have_a_version(tmp_path, monkeypatch):
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.8, V12.8.1'\n")
    tool.chmod(0o755)
    knobs = triton.knobs
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tool))
    assert knobs.nvidia.ptxas == knobs.NvidiaTool(str(tool), "12.8") and knobs.nvidia.knobs["ptxas"].version == "12.8"
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="is no ptxas"):
        knobs.nvidia.ptxas
    assert knobs.nvidia.knobs["ptxas"] is None
