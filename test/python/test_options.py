"""Every option and every keyword of the language does what it says, is a hint that the documents call one, or is refused."""
import re
from pathlib import Path

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r'^OPTION\((\w+), (\w+), "((?:[^"\\]|\\.)*)"\)', re.M)
ROWS = {name: use for name, use, _ in ROW.findall((ROOT / "src/jit/Options.def").read_text())}


@triton.jit
def multiply_add(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * tl.load(y_ptr + i) + tl.load(z_ptr + i))


X = np.full(16, 1 + 2.0**-12, np.float32)
Z = np.full(16, -(1 + 2.0**-11), np.float32)
OUT = np.zeros(16, np.float32)


def run(target="interp", grid=(1,), **options):
    multiply_add.target = target
    out = np.zeros(16, np.float32)
    try:
        return multiply_add[grid](X, X, Z, out, BLOCK=16, **options), out
    finally:
        multiply_add.target = "cpu"


# The tables say what is done with each option: they hold a value that is taken, and one that is not.
OBEYED = {"num_warps": (8, 3), "num_stages": (2, -1), "debug": (True, "yes"), "sanitize_overflow": (False, "yes"), "maxnreg": (64, 0), "enable_fp_fusion": (False, "no"),
          "launch_cooperative_grid": (True, "yes"), "launch_pdl": (True, "yes"), "extern_libs": ({}, {"mine": "/nowhere/mine.bc"}),
          "ir_override": (None, "/nowhere/a.ttir"), "default_dot_input_precision": ("ieee", "fp4"), "arch": (None, "sm90"),
          "closed": (False, "yes")}
FIXED = {"ptx_version": (None, 84), "ptx_options": ("", "--ftz=true"), "instrumentation_mode": ("", "consan")}
HINTS = {"num_ctas": 2, "enable_reflect_ftz": False, "allow_fp8e4nv": True, "max_num_imprecise_acc_default": 0,
         "waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 2, "supported_fp8_dtypes": ("fp8e5", "fp8e4nv"),
         "deprecated_fp8_dot_operand_dtypes": (), "allowed_dot_input_precisions": ("ieee", ), "backend_name": "cuda"}


def test_the_table_has_every_option():
    expected = {**{name: "Obeyed" for name in OBEYED}, **{name: "Fixed" for name in FIXED}, **{name: "Hint" for name in HINTS}}
    assert ROWS == expected


@pytest.mark.parametrize("name, values", [*OBEYED.items(), *FIXED.items()], ids=lambda value: value if isinstance(value, str) else "")
def test_a_value_is_taken_or_refused_by_name(name, values):
    good, bad = values
    run(**{name: good})
    with pytest.raises(triton.LaunchError, match=f"option `{name}` was given .*; it must be ") as caught:
        run(**{name: bad})
    assert caught.value.kind == "OptionValue"
    run(**{name: None})  # as left out


@pytest.mark.parametrize("name, value", HINTS.items())
def test_hints_mean_nothing_and_the_documents_say_so(name, value):
    kernel, _ = run(**{name: value})
    assert kernel is run()[0]
    assert f"`{name}`" in (ROOT / "docs/language/differences.md").read_text()


@pytest.mark.parametrize("name", ["device", "stream", "num_wraps", "cluster_dims", "warp_size"])
def test_other_keywords_are_refused(name):
    with pytest.raises(KeyError, match=name):
        run(**{name: 1})


# ---- contraction ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["interp", "cpu", pytest.param("ptxvm", marks=pytest.mark.sim)])
def test_without_fp_fusion_every_operation_rounds(target):
    kernel, out = run(target, enable_fp_fusion=False)
    np.testing.assert_array_equal(out, (X * X).astype(np.float32) + Z)
    assert out[0] == 0
    if target == "cpu":
        assert "vfmadd" not in kernel.asm["asm"]
    if target == "ptxvm":
        assert "fma." not in kernel.asm["ptx"]
        # Without .rn the assembler may contract.
        assert not re.search(r"\b(mul|add|sub)\.(f32|f64)\b", kernel.asm["ptx"])


def test_with_fp_fusion_the_targets_contract():
    kernel, out = run("cpu")
    if "vfmadd" in kernel.asm["asm"]:
        assert out[0] == 2.0**-24
    assert "fma.rn.f32" in run("ptxvm")[0].asm["ptx"]


def test_fp_fusion_is_part_of_the_key():
    kernels = [run("cpu", **options)[0] for options in ({}, {"enable_fp_fusion": True}, {"enable_fp_fusion": False}, {})]
    assert kernels[0] is kernels[1] is kernels[3] and kernels[2] is not kernels[0]


# ---- cooperative grids ------------------------------------------------------------------------


@triton.jit
def sum_of_all(partial_ptr, arrived_ptr, out_ptr, x_ptr, polls: tl.constexpr, BLOCK: tl.constexpr):
    """Each program writes its part of the sum, waits for all others, and then reads all parts."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    tl.store(partial_ptr + program, tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK))))
    tl.atomic_add(arrived_ptr, 1, sem="release")
    if polls == "atomic":
        while tl.atomic_add(arrived_ptr, 0, sem="acquire") < programs:
            pass
    else:
        while tl.load(arrived_ptr, volatile=True) < programs:
            pass
    total = 0
    for i in range(programs):
        total += tl.load(partial_ptr + i, volatile=True)
    tl.store(out_ptr + program, total)


@pytest.mark.parametrize("polls", ["atomic", "volatile"])
@pytest.mark.parametrize("programs", [2, 50])
def test_programs_of_a_cooperative_grid_on_cores_wait_for_each_other(programs, polls):
    x = np.arange(programs * 16, dtype=np.int32)
    partial, arrived, out = np.zeros(programs, np.int32), np.zeros(1, np.int32), np.zeros(programs, np.int32)
    sum_of_all[(programs,)](partial, arrived, out, x, polls=polls, BLOCK=16, launch_cooperative_grid=True)
    np.testing.assert_array_equal(out, np.full(programs, x.sum()))
    with pytest.raises(triton.LaunchError, match="the grid of 1025 programs is cooperative .*at most 1024"):
        sum_of_all[(1025,)](partial, arrived, out, x, polls=polls, BLOCK=16, launch_cooperative_grid=True)


@pytest.mark.parametrize("target", ["interp", "ptxvm"])
def test_a_cooperative_grid_of_programs_that_run_in_turn_is_refused(target):
    with pytest.raises(triton.LaunchError, match="the grid of 2 programs is cooperative .*one after another"):
        run(target, grid=(2,), launch_cooperative_grid=True)
    run(target, grid=(1,), launch_cooperative_grid=True)
    run(target, grid=(2,), launch_cooperative_grid=False)


# ---- the precision of tl.dot -----------------------------------------------------------------


@triton.jit
def dot_kernel(a_ptr, out_ptr):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a = tl.load(a_ptr + i)
    tl.store(out_ptr + i, tl.dot(a, a))


@pytest.mark.parametrize("word", ["tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"])
def test_default_dot_input_precision_reaches_the_operation(word):
    a = np.ones((16, 16), np.float32)
    kernel = dot_kernel.warmup(a, a, default_dot_input_precision=word)
    number = {"tf32": 0, "tf32x3": 1, "ieee": None, "bf16x3": 3, "bf16x6": 4}[word]  # as upstream's IR has them
    found = re.search(r"tt\.dot [^{:]*(?:\{precision = (\d) : i32\})?", kernel.asm["ttir"]).group(1)
    assert found == (None if number is None else str(number))


# ---- keywords of the language -------------------------------------------------------------------

# Hints and permissions by name, with the functions that have them. All other keywords are obeyed or refused where they stand.
LANGUAGE_HINTS = {
    "range": {"num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer", "flatten", "warp_specialize", "disable_licm"},
    "condition": {"disable_licm"},
    "load": {"cache_modifier", "eviction_policy"},
    "store": {"cache_modifier", "eviction_policy"},
    "reshape": {"can_reorder"}, "ravel": {"can_reorder"}, "cat": {"can_reorder"},
    "fdiv": {"ieee_rounding", "approx"}, "softmax": {"ieee_rounding"},
    "static_print": {"flush"},
}
# Obeyed; the test or the clause that shows it lies with the function's family. A new keyword must be put into one of the tables.
LANGUAGE_OBEYED = {
    "add": {"sanitize_overflow"}, "sub": {"sanitize_overflow"}, "mul": {"sanitize_overflow"},
    "map_elementwise": {"pack"}, "atomic_poll": {"sem", "scope", "timeout_ns"},
    "cast": {"fp_downcast_rounding", "bitcast"}, "maximum": {"propagate_nan"}, "minimum": {"propagate_nan"},
    "clamp": {"propagate_nan"}, "softmax": {"dim", "keep_dims"}, "cat": {"dim"}, "flip": {"dim"}, "swizzle2d": set(),
    "load": {"mask", "other", "boundary_check", "padding_option", "volatile"}, "store": {"mask", "boundary_check"},
    **{f"atomic_{op}": {"mask", "sem", "scope"} for op in ("add", "max", "min", "and", "or", "xor", "xchg", "load", "store")},
    "atomic_cas": {"sem", "scope"}, "dot": {"acc", "input_precision", "allow_tf32", "max_num_imprecise_acc", "out_dtype"},
    "dot_scaled": {"acc", "fast_math", "lhs_k_pack", "rhs_k_pack", "out_dtype"},
    "reduce": {"keep_dims"}, "sum": {"axis", "keep_dims", "dtype"},
    "max": {"axis", "return_indices", "return_indices_tie_break_left", "keep_dims"},
    "min": {"axis", "return_indices", "return_indices_tie_break_left", "keep_dims"},
    "argmax": {"tie_break_left", "keep_dims"}, "argmin": {"tie_break_left", "keep_dims"}, "xor_sum": {"axis", "keep_dims"},
    "reduce_or": {"keep_dims"}, "associative_scan": {"reverse"}, "cumsum": {"axis", "reverse", "dtype"},
    "cumprod": {"axis", "reverse", "dtype"}, "sort": {"dim", "descending"}, "topk": {"dim", "descending"},
    "bitonic_merge": {"dim", "descending"}, "histogram": {"mask"},
    **{name: {"n_rounds"} for name in ("philox_impl", "philox", "randint", "randint4x", "rand", "rand4x", "randn", "randn4x")},
    "static_print": {"sep", "end", "file"}, "static_assert": {"msg"}, "device_assert": {"msg", "mask"}, "device_print": {"hex"},
    "make_tensor_descriptor": {"padding_option"}, "_experimental_descriptor_load": {"shape", "dtype"},
    "pointer_type": {"address_space", "const"}, "range": {"arg2", "step"}, "static_range": {"arg2", "step"},
}
BUILTIN = re.compile(r'^(?:BUILTIN|LIBRARY)\((\w+), \w+, \w+, "((?:[^"\\]|\\.)*)"', re.M)
KEYWORD = re.compile(r"(\w+)(?:: constexpr)?=")


def test_every_keyword_of_the_language_is_obeyed_or_a_hint():
    rows = dict(BUILTIN.findall((ROOT / "src/sema/builtins/Builtins.def").read_text()))
    keywords = {name: set(KEYWORD.findall(parameters)) for name, parameters in rows.items()}
    for name, found in keywords.items():
        assert found == LANGUAGE_HINTS.get(name, set()) | LANGUAGE_OBEYED.get(name, set()), name
    assert (LANGUAGE_HINTS.keys() | LANGUAGE_OBEYED.keys()) <= keywords.keys()
    document = (ROOT / "docs/language/subset.md").read_text()
    for keyword in {keyword for names in LANGUAGE_HINTS.values() for keyword in names}:
        assert f"`{keyword}`" in document, keyword


@pytest.mark.parametrize("source, said", [
    ("for _ in tl.range(0, 4, num_stages='x'):\n        pass", "num_stages"),
    ("tl.static_print('x', end=1)", "end"),
    ("tl.static_print('x', file=1)", "file"),
    ("tl.load(p, boundary_check=(0,))", "boundary_check"),
    ("tl.load(p, padding_option='nan')", "padding_option"),
    ("tl.load(p, cache_modifier='.xx')", "cache_modifier"),
    ("tl.load(p, eviction_policy='never')", "eviction_policy"),
    ("tl.store(p, 1, cache_modifier='.ca')", "cache_modifier"),
    ("tl.atomic_add(p, 1.0, sem='sequential')", "sem"),
    ("tl.atomic_add(p, 1.0, scope='world')", "scope"),
    ("tl.load(p).to(tl.float16, fp_downcast_rounding='up')", "fp_downcast_rounding"),
    ("tl.pointer_type(tl.float32, address_space=3)", "address_space"),
])
def test_values_of_keywords_are_checked(source, said):
    import linecache

    text = f"def kernel(p):\n    {source}\n"
    path = f"<keyword {source}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope = {"tl": tl}
    exec(compile(text, path, "exec"), scope)
    with pytest.raises(triton.CompilationError, match=said):
        triton.jit(scope["kernel"]).warmup(np.zeros(4, np.float32))


# ---- autotune ---------------------------------------------------------------------------------


def tuned(**options):
    @triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (16, 32, 64)], key=[], rep=1, **options)
    @triton.jit
    def increment(x_ptr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < 16) + 1, mask=i < 16)

    increment.fn.target = "interp"
    return increment


def test_do_bench_of_autotune_measures():
    calls = []

    def do_bench(call, quantiles):
        calls.append(quantiles)
        call()
        return [3.0 - len(calls), 0.0, 9.0]  # the last one is the best

    increment, x = tuned(do_bench=do_bench), np.zeros(16, np.float32)
    increment[(1,)](x)
    assert calls == [(0.5, 0.2, 0.8)] * 3 and (x == 1).all()
    assert increment.best_config.kwargs == {"BLOCK": 64}
    assert sorted(increment.configs_timings.values()) == [[0.0, 0.0, 9.0], [1.0, 0.0, 9.0], [2.0, 0.0, 9.0]]


def test_do_bench_of_autotune_may_return_a_number():
    times = iter([2.0, 1.0, 3.0])
    increment = tuned(do_bench=lambda call, quantiles: next(times))
    increment[(1,)](np.zeros(16, np.float32))
    assert increment.best_config.kwargs == {"BLOCK": 32}


def test_use_cuda_graph_means_nothing_on_the_cores():
    x = np.zeros(16, np.float32)
    tuned(use_cuda_graph=True)[(1,)](x)
    assert (x == 1).all()


def test_results_are_found_again(tmp_path, monkeypatch):
    """Another tuner of the same kernel reads what the first one measured, unless what it reads is damaged."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    measured = []

    def do_bench(call, quantiles):
        measured.append(call)
        return float(len(measured))

    def tune(**options):
        measured.clear()
        tuner = tuned(do_bench=do_bench, **options)
        tuner[(1,)](np.zeros(16, np.float32))
        return len(measured), tuner.best_config.kwargs

    assert tune(cache_results=True) == (3, {"BLOCK": 16}) and tune(cache_results=True) == (0, {"BLOCK": 16})
    assert tune() == (3, {"BLOCK": 16})
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    assert tune()[0] == 0
    next(tmp_path.rglob("*.autotune.json")).write_text("{")
    assert tune()[0] == 3


def test_warmup_of_autotune_runs_before_the_measurement():
    count = 0

    def hook(arguments, reset_only=False):
        nonlocal count
        count += 1

    tuned(pre_hook=hook)[(1,)](np.zeros(16, np.float32))
    short, count = count, 0
    tuned(pre_hook=hook, warmup=30)[(1,)](np.zeros(16, np.float32))
    assert count > short


@pytest.mark.parametrize("option", [{"ir_override": "a.ttir"}])
def test_a_configuration_that_asks_for_what_is_not_there_is_refused(option):
    @triton.autotune(configs=[triton.Config({"BLOCK": 16}, **option)], key=[])
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr, BLOCK)

    with pytest.raises(triton.LaunchError, match=next(iter(option))):
        kernel[(1,)](np.zeros(1, np.float32))


def test_repetitions_are_counted_with_what_measuring_them_takes(monkeypatch):
    """A kernel of two microseconds beside a cache that takes 60 to overwrite: 100 ms are 1,600 repetitions, not 50,000."""
    from tegula import testing

    counts = []

    class Clock:
        def __init__(self, torch):
            pass

        def of_a_repetition(self, fn, count):
            return 0.0625

        def each(self, fn, count, before):
            counts.append(count)
            return [0.002] * count

    monkeypatch.setattr(testing, "_DeviceClock", Clock)
    monkeypatch.setattr(testing, "_gpu", lambda: True)
    calls = []
    assert testing.do_bench(lambda: calls.append(1), warmup=25, rep=100) == pytest.approx(0.002)
    assert counts == [1600] and len(calls) == 1 + 400
