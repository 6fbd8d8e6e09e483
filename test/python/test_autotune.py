"""autotune and heuristics."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((16, 1), (64, 2), (256, 4))]


def make(**options):
    @triton.autotune(configs=CONFIGS, key=["n"], rep=1, **options)
    @triton.jit
    def increment(x_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)

    return increment


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


@pytest.mark.parametrize("array", [lambda n: np.zeros(n, np.float32), lambda n: torch.zeros(n)], ids=["numpy", "torch"])
def test_in_place_kernel_runs_once(array):
    increment = make()
    for n in (100, 100, 200):
        x = array(n)
        increment[grid](x, n)
        assert (x == 1).all()
    assert len(increment.cache) == 2
    assert increment.best_config in CONFIGS and set(increment.configs_timings) == set(CONFIGS)


def test_key_has_the_element_types():
    increment = make()
    increment[grid](np.zeros(8, np.float32), 8)
    increment[grid](np.zeros(8, np.int32), 8)
    assert len(increment.cache) == 2


def test_reset_to_zero():
    increment = make(reset_to_zero=["x_ptr"])
    x = np.full(8, 5, np.float32)
    increment[grid](x, 8)
    assert (x == 6).all()  # only the timed runs see zeros


def test_early_config_prune():
    seen = []

    def prune(configs, arguments, **kwargs):
        seen.append(arguments["n"])
        return configs[1:2]

    increment = make(prune_configs_by={"early_config_prune": prune})
    increment[grid](np.zeros(8, np.float32), 8)
    assert seen == [8] and increment.best_config is CONFIGS[1] and increment.bench_time is None


def test_perf_model_keeps_the_top():
    increment = make(prune_configs_by={"perf_model": lambda BLOCK, **rest: BLOCK, "top_k": 1})
    increment[grid](np.zeros(8, np.float32), 8)
    assert increment.best_config is CONFIGS[0]


def test_hooks_of_a_config():
    calls = []

    @triton.autotune([triton.Config({"BLOCK": 8}, pre_hook=lambda arguments: calls.append(arguments["BLOCK"]))], key=[])
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    kernel[(1,)](np.zeros(8, np.float32))
    assert calls == [8]


def test_configuration_that_cannot_be_compiled_loses():
    @triton.autotune([triton.Config({"BLOCK": 4}), triton.Config({"BLOCK": 8})], key=[])
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK > 4)
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    x = np.zeros(8, np.float32)
    kernel[(1,)](x)
    assert x.all() and kernel.best_config.kwargs == {"BLOCK": 8}


def test_constant_that_is_tuned_cannot_be_passed():
    with pytest.raises(ValueError, match="BLOCK"):
        make()[grid](np.zeros(8, np.float32), 8, BLOCK=16)


def test_a_key_that_no_argument_has_says_nothing():
    """Libraries name keys that some of their kernels have not; upstream takes them."""
    kernel = triton.autotune(CONFIGS, key=["m", "n"])(make().fn)
    x = np.zeros(8, np.float32)
    kernel[grid](x, 8)
    assert x.any() and kernel.best_config in CONFIGS


def test_heuristics():
    @triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"]),
                        "EVEN": lambda arguments: arguments["n"] == arguments["BLOCK"]})
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        if EVEN:
            tl.store(x_ptr + offsets, 2.0)
        else:
            tl.store(x_ptr + offsets, 1.0, mask=offsets < n)

    for n, value in ((8, 2), (7, 1)):
        x = np.zeros(8, np.float32)
        kernel[(1,)](x, n)
        assert (x[:n] == value).all() and (n == 8 or x[7] == 0)


def test_heuristics_under_autotune():
    @triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"], rep=1)
    @triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + offsets, 1.0, mask=offsets < n)

    x = np.zeros(16, np.float32)
    kernel[grid](x, 13)
    assert x.sum() == 13


def test_configurations_are_compiled_side_by_side(monkeypatch):
    """Two compiles meet within a function that both call; one after the other they would wait for ever."""
    import os
    import threading

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    meeting, calls = threading.Barrier(2, timeout=60), []

    @triton.constexpr_function
    def meet():
        calls.append(threading.get_ident())
        if len(calls) <= 2:
            meeting.wait()
        return 3

    @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=[])
    @triton.jit
    def kernel(out, B: tl.constexpr):
        tl.store(out + tl.arange(0, B), meet())

    out = np.zeros(32, np.float32)
    kernel[(1,)](out)
    assert out[0] == 3
    assert len(set(calls[:2])) == 2


def test_a_mistake_in_a_configuration_is_told_once_it_is_measured():
    @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=[])
    @triton.jit
    def kernel(out, B: tl.constexpr):
        tl.store(out + tl.arange(0, B), nothing)  # noqa: F821

    with pytest.raises(triton.CompilationError, match="nothing"):
        kernel[(1,)](np.zeros(32, np.float32))


def test_a_tuner_of_others_hands_on_all_that_its_run_was_given():
    """Subclasses with a `run` of their own call `_bench` with `grid` and `warmup` among the keywords."""
    class Tuner(triton.Autotuner):
        def run(self, *args, **kwargs):
            self.nargs = dict(zip(self.arg_names, args))
            self.measured = [self._bench(*args, config=config, **kwargs) for config in self.prune_configs(kwargs)]
            return super().run(*args, **kwargs)

    @triton.jit
    def kernel(out, B: tl.constexpr):
        tl.store(out + tl.arange(0, B), 1.0)

    tuner = Tuner(kernel, kernel.arg_names, [triton.Config({"B": 16})], [], None, None)
    out = np.zeros(16, np.float32)
    tuner.run(out, grid=(1,), warmup=False)
    assert len(tuner.measured) == 1 and tuner.measured[0][0] < float("inf") and (out == 1).all()
