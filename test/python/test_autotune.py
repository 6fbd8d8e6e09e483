"""autotune and heuristics."""
import time

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


def f(x):
    return x


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


@pytest.mark.parametrize("array", [np.full, lambda n, value, _: torch.full((n,), value)], ids=["numpy", "torch"])
def test_reset_to_zero(array):
    increment = make(reset_to_zero=["x_ptr"])
    x = array(8, 5.0, np.float32)
    increment[grid](x, 8)
    assert (x == 1).all()  # the run behind the timed ones starts at zeros, too
    increment[grid](x, 8)
    assert (x == 2).all()  # what was chosen is launched, and nothing else happens


def test_a_hook_before_runs_is_told_that_no_run_is_measured():
    told = []

    def zero(arguments, reset_only=False):
        told.append(reset_only)
        arguments["x_ptr"][:] = 0

    increment = make(pre_hook=zero)
    x = np.full(8, 5, np.float32)
    increment[grid](x, 8)
    assert (x == 1).all() and told[-1] and False in told


def test_a_choice_that_a_file_had_resets_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    for value in (1, 6):
        x = np.full(8, 5, np.float32)
        make(reset_to_zero=["x_ptr"], cache_results=True)[grid](x, 8)
        assert (x == value).all()


def test_a_hook_of_a_configuration_sets_the_block_that_is_compiled():
    from tegula.tools.tensor_descriptor import TensorDescriptor

    def block(arguments):
        arguments["desc"].block_shape = [arguments["B"], 16]

    @triton.autotune([triton.Config({"B": size}, pre_hook=block) for size in (4, 8)], key=["n"], rep=1)
    @triton.jit
    def kernel(desc, n, B: tl.constexpr):
        desc.store([0, 0], desc.load([0, 0]) + tl.full([B, 16], 1.0, tl.float32))

    x = torch.zeros(16, 16)
    desc = TensorDescriptor.from_tensor(x, [1, 1])
    kernel[(1,)](desc, 2)
    size = kernel.best_config.kwargs["B"]
    assert desc.block_shape == [size, 16] and x.sum() == size * 16 and x.max() == 1


def test_the_grid_sees_what_heuristics_give():
    @triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 2)], key=["n"], rep=1)
    @triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"]) // 4})
    @triton.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, i, mask=i < n)

    x = torch.zeros(100)
    kernel[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)
    assert (x == torch.arange(100)).all()


class Address:
    """A tensor to a kernel, and no more."""

    def __init__(self, tensor):
        self.tensor, self.dtype = tensor, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()


def test_what_stands_for_a_tensor_is_tuned_on():
    increment = make()
    x = torch.zeros(64, dtype=torch.int32)
    increment[grid](triton.reinterpret(x, tl.float32), 64)
    assert (x.view(torch.float32) == 1).all()  # put back after each measured run
    x = torch.zeros(64)
    increment[grid](Address(x), 64)
    assert (x > 0).all() and increment.best_config in CONFIGS


def test_more_stages_than_there_are_is_a_configuration_that_cannot_run():
    @triton.autotune([triton.Config({}, num_stages=stages) for stages in (2048, 2)], key=[])
    @triton.jit
    def kernel(x):
        tl.store(x, 1.0)

    x = np.zeros(1, np.float32)
    kernel[(1,)](x)
    assert x[0] == 1 and kernel.best_config.num_stages == 2
    assert kernel.configs_timings[kernel.configs[0]][0] == float("inf")


def test_dtypes_stand_for_tensors_where_heuristics_warm_up():
    seen = []

    @triton.heuristics({"E": lambda arguments: seen.append(arguments["x"].dtype) or True})
    @triton.jit
    def kernel(x, n, E: tl.constexpr, T: tl.constexpr):
        tl.store(x, n)

    kernel.warmup(torch.float32, 5, T=torch.float16, grid=(1,))
    assert seen == [torch.float32]


def test_kernels_that_take_the_rest_of_the_arguments_are_tuned():
    @triton.autotune([triton.Config({"B": size}) for size in (4, 8)], key=["n"], rep=1)
    @triton.heuristics({"E": lambda arguments: len(arguments["rest"])})
    @triton.jit
    def kernel(x, n, *rest, B: tl.constexpr, E: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        for other in rest:
            tl.store(other + i, tl.load(other + i) + tl.load(x + i) + E)

    x, *others = np.ones(8, np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    kernel[lambda meta: (8 // meta["B"] + 2 - len(meta["rest"]),)](x, 8, *others)
    assert all((other == 3).all() for other in others)


def test_names_of_upstream():
    increment = make(prune_configs_by={"perf_model": None, "of_a_library": 3})
    assert increment.base_fn is increment.fn.fn
    assert str(triton.Config({"B": 1})) == "B: 1, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None"


@pytest.mark.parametrize("top_k, count", [(2, 2), (0.5, 1), (0.1, 1), (1.0, 3), (0, 1)])
def test_a_part_of_the_configurations_is_at_least_one(top_k, count):
    increment = make(prune_configs_by={"perf_model": lambda BLOCK, **rest: BLOCK, "top_k": top_k})
    increment.nargs = {"n": 8}
    assert increment.prune_configs({}) == CONFIGS[:count]


@pytest.mark.parametrize("top_k", [1.5, "x", None])
def test_what_is_no_part_of_the_configurations_is_refused(top_k):
    with pytest.raises(TypeError, match="top_k"):
        make(prune_configs_by={"perf_model": lambda BLOCK, **rest: BLOCK, "top_k": top_k})[grid](np.zeros(8, np.float32), 8)


@pytest.mark.parametrize("names", [{"key": ["n"], "restore_value": ["m"]}, {"key": ["n"], "reset_to_zero": ["m"]}])
def test_names_of_no_parameter_are_refused(names):
    with pytest.raises(ValueError, match="names `m`, which is no parameter of `increment`\n  hint: its parameters: x_ptr, n, BLOCK"):
        triton.autotune(CONFIGS, **names)(make().fn)


@pytest.mark.parametrize("decorate", [triton.autotune(CONFIGS, key=[]), triton.heuristics({"BLOCK": lambda _: 8})], ids=["autotune", "heuristics"])
def test_a_function_that_is_no_kernel_yet_is_refused(decorate):
    with pytest.raises(TypeError, match="`f` is none yet\n  hint: write @triton.jit directly above `def`"):
        decorate(f)


@pytest.mark.parametrize("options, told", [({"key": None}, "key is None"), ({"restore_value": ["n"]}, "its argument is 11, no tensor"),
                                           ({"prune_configs_by": {"early_config_prune": lambda *_, **__: None}}, "gave None")])
def test_what_a_tuner_cannot_use_is_told(options, told):
    with pytest.raises(TypeError, match=told):
        triton.autotune(CONFIGS, **{"key": ["n"], **options})(make().fn)[grid](np.zeros(11, np.float32), 11)


@pytest.mark.parametrize("values", [{"BLOCK": 8}, ["BLOCK"]])
def test_heuristics_are_functions_by_name(values):
    with pytest.raises(TypeError, match="gives no function for each name"):
        triton.heuristics(values)(make().fn)


def test_a_key_of_no_parameter_is_told():
    with pytest.warns(UserWarning, match="key names `m`, which is no parameter of `increment`") as told:
        kernel = triton.autotune(CONFIGS, key=["m", "n"])(make().fn)
    assert told[0].filename == __file__
    x = np.zeros(8, np.float32)
    kernel[grid](x, 8)
    np.testing.assert_array_equal(x, np.ones(8))


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


def accumulating(kind, configs):
    """Kernels that work on what they find: in place, atomically, into a slice, through a descriptor or a tuple."""
    @triton.jit
    def in_place(x, y, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + o, tl.load(x + o, mask=o < n) * 2 + 1, mask=o < n)

    @triton.jit
    def atomic(x, y, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(x + o % 8, tl.load(y + o, mask=o < n, other=0), mask=o < n)

    @triton.jit
    def both(x, y, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        old = tl.load(x + o, mask=o < n)
        tl.store(x + o, old + tl.load(y + o, mask=o < n), mask=o < n)
        tl.store(y + o, old, mask=o < n)

    @triton.jit
    def counter(x, y, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(x, tl.sum(tl.where(o < n, 1.0, 0.0)))

    @triton.jit
    def pair(xy, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(xy[0] + o, tl.load(xy[0] + o, mask=o < n) + tl.load(xy[1] + o, mask=o < n), mask=o < n)

    @triton.jit
    def descriptor(x, y, n, BLOCK: tl.constexpr):
        # the block is the descriptor's own: programs beyond it write nothing
        tile = x.load([tl.program_id(0) * 16])
        x.store([tl.program_id(0) * 16], tile + 1)

    fn = {"in_place": in_place, "atomic": atomic, "both": both, "counter": counter, "pair": pair,
          "descriptor": descriptor}[kind]
    return triton.autotune(configs, key=["n"], rep=1)(fn), fn


@pytest.mark.parametrize("kind", ["in_place", "atomic", "both", "counter", "pair", "descriptor"])
@pytest.mark.parametrize("array", ["numpy", "torch", "slice"])
@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_one_clean_run_whatever_the_number_and_order_of_configurations(kind, array, count):
    from tegula.tools.tensor_descriptor import TensorDescriptor

    n = 100
    configs = [triton.Config({"BLOCK": 16 << i % 4}, num_warps=1 << i // 4 % 4, num_stages=1 + i // 16) for i in range(count)]

    def make():
        whole = np.arange(3 * n, dtype=np.float32) % 17
        whole = whole if array == "numpy" and kind != "descriptor" else torch.from_numpy(whole)
        x, y = (whole[:n], whole[2 * n:]) if array == "slice" else (whole[:n].copy() if isinstance(whole, np.ndarray)
                                                                    else whole[:n].clone(), whole[2 * n:])
        return whole, x, y

    def call(kernel, grid, x, y, **options):
        if kind == "pair":
            return kernel[grid]((x, y), n, **options)
        first = TensorDescriptor(x, [n], [1], [16]) if kind == "descriptor" else x
        return kernel[grid](first, y, n, **options)

    results = []
    for order in (configs, configs[::-1]):
        tuned, plain = accumulating(kind, order)
        whole, x, y = make()
        blocks = (lambda meta: (7,)) if kind == "descriptor" else grid
        call(tuned, blocks, x, y)
        results.append((np.asarray(whole).copy(), np.asarray(x).copy()))
    whole, x, y = make()
    call(plain, (7,), x, y, BLOCK=16)
    for found in results:
        np.testing.assert_array_equal(found[0], np.asarray(whole).copy())
        np.testing.assert_array_equal(found[1], np.asarray(x).copy())


def test_memory_behind_a_view_is_put_back():
    """A row is passed, and the kernel walks over all rows by their stride."""
    @triton.autotune([triton.Config({"B": 8}, num_warps=w) for w in (1, 2, 4)] + [triton.Config({"B": 16})], key=[])
    @triton.jit
    def walk(row, rows, stride, B: tl.constexpr):
        o = tl.arange(0, B)
        for i in range(rows):
            place = row + i * stride + o
            tl.store(place, tl.load(place, mask=o < 8) + 1, mask=o < 8)

    for x in (torch.zeros(5, 8), np.zeros((5, 8), np.float32)):
        walk[(1,)](x[0], 5, 8)
        assert (x == 1).all()


def test_equal_code_is_measured_once(monkeypatch):
    from tegula.runtime import tuning

    measured = []
    run = tuning.Measured.run
    monkeypatch.setattr(tuning.Measured, "run", lambda self, count: measured.append(self.config) or run(self, count))
    configs = [triton.Config({"BLOCK": 64}, num_warps=w) for w in (1, 2, 4, 8)]  # cores have no warps
    increment = triton.autotune(configs, key=["n"], rep=1)(make().fn)
    increment[grid](np.zeros(333, np.float32), 333)
    assert len(set(map(id, measured))) == 1 and increment.best_config is configs[0]
    assert len({tuple(times) for times in increment.configs_timings.values()}) == 1


def test_what_a_process_measured_another_finds(tmp_path):
    """And of one more configuration, only that one is measured."""
    import json
    import os
    import subprocess
    import sys

    program = """
import json, sys
import time

import numpy as np
import tegula as triton, tegula.language as tl
from tegula.runtime import tuning
measured = []
run = tuning.Measured.run
tuning.Measured.run = lambda self, count: measured.append(str(self.config)) or run(self, count)
@triton.autotune([triton.Config({"BLOCK": int(b)}) for b in sys.argv[1].split(",")], key=["n"], rep=1)
@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + o, tl.load(x + o, mask=o < n) + 1, mask=o < n)
for n in map(int, sys.argv[2].split(",")):
    x = np.zeros(n, np.float32)
    increment[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, n)
    assert (x == 1).all()
print(json.dumps([sorted(set(measured)), str(increment.best_config), increment.tuning_remarks]))
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    environment = {**os.environ, "TEGULA_CACHE_DIR": str(tmp_path / "cache")}

    def run(blocks, sizes="40000"):
        done = subprocess.run([sys.executable, str(path), blocks, sizes], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""  # no progress in a pipe
        return json.loads(done.stdout)

    first = run("16,1024")
    assert len(first[0]) == 2
    assert run("16,1024") == [[], first[1], []]
    # 2 is far slower than both, so that nothing of theirs is measured again
    assert run("2,16,1024")[0] == ["BLOCK: 2, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None"]
    near = run("16,1024", "39000")
    assert near[2] == [f"began with {first[1]}, the best of sizes (40000, 40000)"]


def test_hooks_are_called_around_each_run():
    seen = []
    increment = make(pre_hook=lambda kwargs, reset_only=False: seen.append("pre"),
                     post_hook=lambda kwargs, exception: seen.append("post"))
    increment[grid](np.zeros(64, np.float32), 64)
    assert seen == ["pre", "post"] * (len(seen) // 2) + ["pre"] and len(seen) > 6  # the last one only resets


def test_restore_value_and_own_benchmark():
    asked = []

    def bench(call, quantiles):
        call()
        asked.append(quantiles)
        return [3.0 - len(asked), 0.0, 0.0]

    increment = make(do_bench=bench, restore_value=["x_ptr"])
    x = np.zeros(64, np.float32)
    increment[grid](x, 64)
    assert (x == 1).all() and asked == [(0.5, 0.2, 0.8)] * 3
    assert increment.best_config is CONFIGS[2] and increment.configs_timings[CONFIGS[0]] == [2.0, 0.0, 0.0]


def test_an_exception_of_a_launch_ends_the_tuning():
    """An assertion that is false is the program's mistake, and no slow configuration."""
    @triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32})], key=[])
    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.device_assert(tl.load(x) == 1, "x is one")

    with pytest.raises(triton.TritonError, match="x is one"):
        kernel.run(np.zeros(4, np.float32), grid=(1,), debug=True)


class SlowRuns:
    """Runs of a microsecond, each with 10 ms of something else: a full device, arrays that are put back."""
    clock = None

    def __init__(self):
        self.runs = 0

    def once(self):
        pass

    def warm_up(self, milliseconds):
        pass

    def run(self, count):
        self.runs += count
        time.sleep(0.01 * count)
        return [0.001] * count


def test_runs_of_a_configuration_are_bounded_on_the_clock_on_the_wall():
    slow = SlowRuns()
    assert make()._time(slow) == pytest.approx([0.001] * 3)
    assert 3 <= slow.runs <= 13


def test_a_tuner_with_a_run_of_its_own_keeps_what_it_measured_in_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    configs = [triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})]
    measured = []

    def choose(key, configs=configs):
        tuner = triton.autotune(configs, key=["n"])(make().fn)

        def measure():
            measured.append(key)
            tuner.configs_timings = {config: [float(-config.kwargs["BLOCK"])] * 3 for config in configs}
            tuner.cache[key] = configs[1]

        return tuner.check_disk_cache(key, configs, measure), tuner.cache[key].kwargs["BLOCK"], len(tuner.configs_timings)

    assert choose(("a", 1)) == (False, 16, 2) and choose(("a", 1)) == (True, 16, 2)
    assert choose(("b",)) == (False, 16, 2) and choose(()) == (False, 16, 2) and choose(()) == (False, 16, 2)
    hooked = [triton.Config({"BLOCK": block}, pre_hook=lambda arguments: None) for block in (8, 16)]
    assert choose(("a", 1), hooked) == (False, 16, 2) and choose(("a", 1), hooked) == (False, 16, 2)
    assert measured == [("a", 1), ("b",), (), (), ("a", 1), ("a", 1)]


def test_an_argument_that_is_left_out_is_neither_zeroed_nor_restored():
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        i = tl.arange(0, B)
        if x is None:
            tl.store(y + i, 1.0, mask=i < n)
        else:
            tl.store(x + i, 2.0, mask=i < n)

    configs = [triton.Config({"B": 8}), triton.Config({"B": 16})]
    for hooks in ({"reset_to_zero": ["x"]}, {"restore_value": ["x"]}):
        tuned, y = triton.autotune(configs, key=["n"], **hooks)(kernel), np.zeros(8, np.float32)
        tuned[(1,)](None, y, 8)
        assert (y == 1).all()


def test_more_warps_than_a_block_has_are_a_configuration_that_cannot_run():
    @triton.autotune([triton.Config({}, num_warps=128), triton.Config({}, num_warps=4)], key=["n"])
    @triton.jit
    def kernel(x, n):
        tl.store(x, n)

    x = np.zeros(1, np.float32)
    kernel[(1,)](x, 3)
    assert x[0] == 3 and kernel.best_config.num_warps == 4
    with pytest.raises(triton.OutOfResources, match="out of resource: threads, Required: 4096, Hardware limit: "):
        kernel.fn[(1,)](x, 3, num_warps=128)
    source = triton.compiler.ASTSource(kernel.fn, {"x": "*fp32", "n": "i32"})
    with pytest.raises(triton.OutOfResources, match="Required: 2048, Hardware limit: 1024"):
        triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 90, 32), options={"num_warps": 64})


def test_where_no_configuration_can_run_the_error_is_that_of_the_first():
    @triton.autotune([triton.Config({"B": 32}), triton.Config({"B": 64})], key=[])
    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.static_assert(B < 32, "B must be below 32")
        tl.store(x + tl.arange(0, B), 1.0)

    with pytest.raises(triton.CompileTimeAssertionFailure, match="no configuration of `kernel` can run.*\n(.*\n)*.*B must be below 32") as caught:
        kernel[(1,)](np.zeros(64, np.float32))
    assert caught.value.kind == "StaticAssertFailed"


def test_the_listener_is_told_of_what_was_measured(tmp_path, monkeypatch):
    told = []
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    increment = make(cache_results=True)
    with triton.knobs.autotuning.scope():
        triton.knobs.autotuning.listener = lambda **kwargs: told.append(kwargs)
        for _ in range(2):
            increment[grid](np.zeros(8, np.float32), 8)
        increment.cache.clear()
        increment[grid](np.zeros(8, np.float32), 8)
    assert [row["cache_hit"] for row in told] == [False, True] and told[0]["duration"] > 0 and told[1]["duration"] is None
    assert told[0]["fn"] is increment.fn and told[0]["best_config"] in told[0]["configs_timings"]


@pytest.mark.parametrize("configs", ["abc", triton.Config({"BLOCK": 8}), [{"BLOCK": 8}], 3])
def test_what_is_no_list_of_configurations_is_refused(configs):
    with pytest.raises(TypeError, match="autotune takes a list of triton.Config; here is .*\n  hint: configs="):
        triton.autotune(configs, key=[])(make().fn)


def test_the_clock_is_that_of_the_gpu_that_launches_go_to(monkeypatch):
    from tegula import testing

    class OnGpu:
        is_cuda, device = True, "cuda:1"

    monkeypatch.setattr(testing, "_gpu", lambda: "torch")
    assert testing.stopwatch([np.ones(1), OnGpu()]).device == "cuda:1"
    clock = testing.stopwatch([], is_on_gpu=True)  # numbers alone
    assert testing.is_device_clock(clock) and clock.device is None
    assert not testing.is_device_clock(testing.stopwatch([np.ones(1)])) and not testing.is_device_clock(testing.stopwatch([]))
    monkeypatch.setattr(testing, "_gpu", lambda: None)
    assert not testing.is_device_clock(testing.stopwatch([OnGpu()], is_on_gpu=True))
