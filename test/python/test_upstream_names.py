"""The names that libraries import from triton, and the parameters of what they call by position. Each resolves in a drop-in.
The table is ours; docs/language/differences.md says which names have no meaning here."""
import ast
import importlib
import inspect
import pickle
import subprocess
import sys
import textwrap

import pytest


NAMES = {
    "triton": """AsyncCompileMode CompilationError Config FutureKernel InterpreterError JITFunction KernelInterface MockTensor
        OutOfResources TensorWrapper TritonError autotune backends cdiv compile compiler constexpr_function errors heuristics
        jit knobs language must_use_result next_power_of_2 reinterpret runtime set_allocator testing tools __version__""",
    "triton._C.libtriton": "amd getenv getenv_bool get_cache_invalidating_env_vars ir native_specialize_impl nvidia",
    "triton._C.libtriton.ir": "context load_dialects",
    "triton._utils": """canonicalize_dtype find_paths_if get_iterable_path is_namedtuple set_iterable_path
        type_canonicalisation_dict validate_block_shape get_primitive_bitwidth TRITON_MAX_TENSOR_NUMEL""",
    "triton.backends": "Backend BaseBackend DriverBase backends compiler driver nvidia",
    "triton.backends.compiler": "BaseBackend GPUTarget Language",
    "triton.backends.driver": "Benchmarker DriverBase GPUDriver",
    "triton.backends.amd": "compiler driver",
    "triton.backends.amd.compiler": "HIPBackend HIPOptions",
    "triton.backends.amd.driver": "HIPDriver HIPLauncher HIPUtils",
    "triton.experimental.gluon": "constexpr_function jit language",
    "triton.experimental.gluon.language": "BlockedLayout NVMMASharedLayout constexpr float32 load",
    "triton.experimental.gluon.language.nvidia.hopper": "mbarrier tma warpgroup_mma",
    "triton.experimental.gluon.nvidia.hopper": "TensorDescriptor",
    "triton.language.extra.hip": "libdevice utils",
    "triton.language.extra.hip.libdevice": "exp tanh rsqrt",
    "triton.language.extra.hip.utils": "memrealtime",
    "triton.profiler.hooks": "Hook HookManager InstrumentationHook LaunchHook",
    "triton.profiler.hooks.launch": "LaunchHook",
    "triton.backends.nvidia.compiler": "CUDABackend CUDAOptions get_ptxas get_ptxas_version min_dot_size sm_arch_from_capability",
    "triton.backends.nvidia.driver": "CudaDriver CudaUtils libcuda_dirs library_dirs ty_to_cpp",
    "triton.compiler": """ASTSource CompilationError CompiledKernel IRSource LazyDict code_generator compile compiler errors
        make_backend""",
    "triton.compiler.compiler": """ASTSource AsmDict CompiledKernel GPUTarget IRSource LazyDict compile driver get_cache_key
        make_backend max_shared_mem triton_key""",
    "triton.compiler.code_generator": "CompilationError UnsupportedLanguageConstruct ast_to_ttir",
    "triton.compiler.errors": "CompilationError CompileTimeAssertionFailure UnsupportedLanguageConstruct",
    "triton.runtime": """Autotuner Config Heuristics InterpreterError JITFunction KernelInterface MockTensor OutOfResources
        TensorWrapper autotune autotuner build cache driver errors heuristics jit reinterpret""",
    "triton.runtime._allocation": "Allocator Buffer NullAllocator set_allocator",
    "triton.runtime.autotuner": "Autotuner AutotunerError Config Heuristics OutOfResources PTXASError autotune heuristics",
    "triton.runtime.build": "compile_module_from_src platform_key _build",
    "triton.runtime.cache": """CacheManager FileCacheManager RemoteCacheManager RemoteCacheBackend _base32 get_cache_key
        get_cache_manager get_dump_manager get_override_manager triton_key""",
    "triton.runtime.driver": "DriverConfig active default driver",
    "triton.runtime.errors": "AutotunerError InterpreterError OutOfResources PTXASError TritonError",
    "triton.runtime.interpreter": "InterpretedFunction InterpreterError",
    "triton.runtime.jit": """BoundConstexprFunction DependenciesFinder get_cache_key serialize_specialization_data ConstexprFunction JITCallable JITFunction JitFunctionInfo KernelInterface
        KernelParam MockTensor TensorWrapper compute_cache_key constexpr_function create_function_from_signature driver
        find_paths_if get_full_name get_iterable_path get_jit_fn_file_line jit knobs mangle_type native_specialize_impl reinterpret""",
    "triton.knobs": """AutotuneListener HookChain CompileTimes NvidiaTool autotuning build cache compilation env env_nvidia_tool language
        nvidia proton redis runtime base_knobs""",
    "triton.profiler": """DEFAULT_PROFILE_NAME activate context cpu_timed_scope deactivate enter_scope enter_state exit_scope
        exit_state finalize mode profile scope specs start state""",
    "triton.profiler.context": "depth",
    "triton.profiler.language": "disable_semantic enable_semantic enter_scope exit_scope scope",
    "triton.profiler.mode": "BaseMode Default InstrumentationMode MMA PCSampling",
    "triton.profiler.proton": "main",
    "triton.profiler.specs": "max_bps max_flops",
    "triton.profiler.viewer": "main parse print_tree read show_metrics",
    "triton.testing": """Benchmark Mark assert_close cuda_memcheck do_bench do_bench_cudagraph get_dram_gbps
        get_max_simd_tflops get_max_tensorcore_tflops nvsmi perf_report set_gpu_clock""",
    "triton.tools": "disasm tensor_descriptor",
    "triton.tools.disasm": "extract get_sass path_to_cuobjdump path_to_nvdisasm",
    "triton.tools.ragged_tma": "create_ragged_descriptor load_ragged store_ragged to_ragged_indices",
    "triton.language.extra.cuda.gdc": "gdc_launch_dependents gdc_wait",
    "triton.language.extra.cuda.utils": "globaltimer num_threads num_warps smid",
    "triton.language": "PropagateNan constexpr constexpr_type core const dtype extra math pointer_type semantic standard target_info tensor",
    "triton.language.core": """CONSTEXPR_0 PropagateNan TRITON_BUILTIN pi32_t str_to_ty TRITON_MAX_TENSOR_NUMEL _unwrap_if_constexpr _unwrap_shape _unwrap_iterable
        _shape_check_impl builtin cdiv constexpr constexpr_type dispatch dtype extern get_int_dtype is_builtin must_use_result tensor view""",
    "triton.language.standard": """_log2 _get_int_dtype _sum_combine _elementwise_max _elementwise_min cdiv max sum sort
        _argmax_combine_tie_break_left""",
    "triton.language.semantic": "IncompatibleTypeErrorImpl TritonSemantic",
    "triton.language.target_info": """cuda_capability_geq current_target get_cdna_version get_hip_lds_size get_rdna_version
        hip_supports_bf16xX hip_supports_f8e4m3 hip_supports_scaled_dot hip_wmma_version is_cuda is_hip is_hip_cdna is_hip_cdna2
        is_hip_cdna3 is_hip_cdna3_or_newer is_hip_cdna4 is_hip_gfx1250 is_hip_rdna is_hip_rdna3 is_hip_rdna4""",
    "triton.language.extra": "cuda hip libdevice",
    "triton.language.extra.libdevice": "exp tanh rsqrt",
    "triton.language.random": "philox rand randn randint",
}
# Parameters by position, as upstream has them.
PARAMETERS = {
    "triton.Config": "kwargs num_warps num_stages num_ctas maxnreg pre_hook ir_override",
    "triton.JITFunction": "fn version do_not_specialize do_not_specialize_on_alignment debug noinline repr launch_metadata",
    "triton.autotune": """configs key prune_configs_by reset_to_zero restore_value pre_hook post_hook warmup rep use_cuda_graph
        do_bench cache_results""",
    "triton.compile": "src target options",
    "triton.runtime.autotuner.Autotuner": """fn arg_names configs key reset_to_zero restore_value pre_hook post_hook
        prune_configs_by warmup rep use_cuda_graph do_bench cache_results""",
    "triton.runtime.autotuner.Heuristics": "fn arg_names values",
    "triton.runtime.autotuner.Autotuner.check_disk_cache": "self tuning_key configs bench_fn",
    "triton.compiler.ASTSource": "fn signature constexprs attrs",
    "triton.profiler.finalize": "session output_format",
    "triton.profiler.profile": "func name context data backend mode hook",
    "triton.profiler.scope": "name metrics",
    "triton.profiler.start": "name context data backend mode hook",
    "triton.profiler.viewer.parse": "metrics filename include exclude threshold",
    "triton.profiler.viewer.print_tree": "gf metrics depth format print_sorted",
    "triton.testing.do_bench": "fn warmup rep grad_to_none quantiles return_mode",
    "triton.testing.Benchmark": "x_names x_vals line_arg line_vals line_names plot_name args xlabel ylabel x_log y_log",
    "triton.runtime.jit.native_specialize_impl": "backend arg is_const specialize_value align",
}
# Their absence tells libraries which protocol of upstream's this is.
ABSENT = ["triton.backends.compiler.AttrsDescriptor", "triton.compiler.compiler.AttrsDescriptor", "triton.tools.experimental_descriptor"]


def find(dotted):
    module, _, name = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module("tegula" + module.removeprefix("triton")), name)
    except ImportError:
        return getattr(find(module), name)


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    found = importlib.import_module("tegula" + module.removeprefix("triton"))
    missing = [name for name in NAMES[module].split() if not hasattr(found, name)]
    assert not missing, f"{module} has no {missing}"


# Functions of upstream's modules of the language, and methods of its tensors.
LISTED = {
    "tl": """abs add advance arange argmax argmin associative_scan assume atomic_add block_type broadcast_to cast cdiv constexpr cos cumsum
        device_print dot dot_scaled dtype exp flip float16 float8e4nv full gather int1 join load make_block_ptr math max maximum min
        multiple_of num_programs permute philox program_id rand range reduce reshape rsqrt sigmoid slice softmax sort standard
        static_assert static_range store sum tensor tensor_descriptor topk trans tuple uint8 umulhi void where zeros zeros_like""",
    "tl.core": "CONSTEXPR_0 arange block_type check_bit_width constexpr dtype load program_id range store tensor void where",
    "tl.math": "abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi",
    "tl.standard": """_argmax_combine _argmax_combine_tie_break_left _argmin_combine _elementwise_max _log2 _sum_combine argmax cumsum flip
        max sigmoid softmax sort sum topk xor_sum zeros""",
    "tl.random": "N_ROUNDS_DEFAULT pair_uniform_to_normal philox rand rand4x randint randn",
    "tl.tensor": """abs argmax argmin associative_scan atomic_add atomic_cas broadcast_to cast cumsum exp expand_dims gather item log
        logical_or max permute reduce reshape sigmoid split store sum to trans view xor_sum""",
    "tl.extra.cuda": "gdc gdc_launch_dependents gdc_wait globaltimer libdevice num_threads num_warps smid utils",
    "tl.extra.libdevice": "abs acos asin exp fast_expf isnan pow rsqrt tanh", "tl.extra.cuda.libdevice": "abs acos tanh",
    "tl.extra.cuda.utils": "globaltimer smid",
}


@pytest.mark.parametrize("module", LISTED)
def test_what_is_found_is_listed(module):
    import tegula.language as tl  # noqa: F401

    found = eval(module)
    names = dir(found)
    assert names == sorted(names) and not [name for name in LISTED[module].split() if name not in names]
    assert not [name for name in names if not hasattr(found, name)]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    wanted = PARAMETERS[name].split()
    assert list(inspect.signature(find(name)).parameters)[:len(wanted)] == wanted


@pytest.mark.parametrize("name", ABSENT)
def test_absent(name):
    with pytest.raises((AttributeError, ImportError)):
        find(name)


def script(text, *arguments, **options):
    done = subprocess.run([sys.executable, *arguments, "-c", textwrap.dedent(text)] if not options else
                          [sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_drop_in_that_is_loaded_again_tells_its_version():
    assert script("""
        from tegula.alias import install_as_triton
        install_as_triton()
        import importlib, triton
        jit = triton.jit
        assert importlib.reload(triton) is triton and triton.jit is jit
        print(triton.__version__)
    """).split() == ["3.6.0"]


def test_folders_of_the_drivers_library(tmp_path, monkeypatch):
    from tegula.backends.nvidia import driver

    monkeypatch.setattr(driver, "_of_linker", list)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path}")
    driver.libcuda_dirs.cache_clear()
    with pytest.raises(AssertionError, match="libcuda.so.1 is not found"):
        driver.libcuda_dirs()
    (tmp_path / "libcuda.so.1").touch()
    assert driver.libcuda_dirs() == driver.library_dirs() == [str(tmp_path)]
    driver.libcuda_dirs.cache_clear(), driver.library_dirs.cache_clear()


@pytest.mark.parametrize("has_context", [True, False])
def test_the_queue_of_prints_has_a_size(monkeypatch, has_context):
    from tegula.backends import drivers

    class Api:
        """Stands for CUDA's driver."""
        calls, limit = [], 0

        def __getattr__(self, name):
            def call(*arguments):
                self.calls.append(name)
                if name == "cuCtxGetCurrent" and has_context:
                    arguments[0]._obj.value = 7
                if name == "cuCtxSetLimit":
                    assert arguments[0] == 1
                    self.limit = arguments[1].value
                    return 800 if self.limit == 3 else 0

            return call

    api = Api()
    api.calls.clear()
    monkeypatch.setattr(drivers, "_driver_library", lambda: api)
    monkeypatch.setattr(drivers.GpuDriver, "get_current_device", lambda self: 0)
    drivers.GpuDriver.utils.set_printf_fifo_size(1 << 28)
    made = [] if has_context else ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"]
    assert api.limit == 1 << 28 and api.calls == ["cuInit", "cuCtxGetCurrent", *made, "cuCtxSetLimit"]
    with pytest.raises(RuntimeError, match="cuCtxSetLimit failed with the result 800"):
        drivers.GpuDriver.utils.set_printf_fifo_size(3)
    drivers.CpuDriver.utils.set_printf_fifo_size(1 << 28)  # nothing is lost there


def test_types_of_launchers_in_cpp():
    from tegula.backends.nvidia.driver import ty_to_cpp

    kinds = ["*fp16", "tensordesc<fp16[16, 16]>", "bf16", "i1", "u1", "i32", "u64"]
    assert [*map(ty_to_cpp, kinds)] == ["CUdeviceptr", "CUtensorMap", "double", "int8_t", "uint8_t", "int32_t", "uint64_t"]
    with pytest.raises(KeyError):
        ty_to_cpp("i12")


def test_a_drop_in_and_its_children():
    out = script("""
        import importlib.metadata, subprocess, sys
        from tegula.alias import install_as_triton
        install_as_triton()
        import triton, triton.runtime.driver, triton.backends, triton.language as tl
        assert triton.__version__ == importlib.metadata.version("triton") == "3.6.0"
        assert triton.runtime.driver.active.get_current_target().backend in ("cpu", "cuda")
        assert sys.modules["triton.runtime.driver"].driver is triton.runtime.driver
        assert type(tl) is type(sys) and "cuda" in triton.backends.backends
        assert len([b for b in triton.backends.backends.values() if b.driver.is_active()]) == 1
        child = "import triton, importlib.metadata as m; print(triton.__name__, m.version('triton'))"
        subprocess.run([sys.executable, "-c", child], check=True)
    """)
    assert out.split() == ["tegula", "3.6.0"]


def test_a_drop_in_tells_the_version_that_the_environment_names(monkeypatch):
    text = """
        import importlib.metadata
        from tegula.alias import install_as_triton
        install_as_triton()
        import triton, tegula
        assert importlib.metadata.distribution("triton").metadata["Name"] == "triton"
        print(triton.__version__, tegula.__version__, importlib.metadata.version("triton"))
    """
    monkeypatch.setenv("TEGULA_TRITON_VERSION", "3.7.1")
    assert script(text).split() == ["3.7.1"] * 3
    monkeypatch.setenv("TEGULA_TRITON_VERSION", "new")
    with pytest.raises(AssertionError, match="ValueError: TEGULA_TRITON_VERSION is `new`; hint: a version"):
        script(text)


def test_a_script_is_run_as_python_runs_it(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "sibling.py").write_text("v = 1\n")
    text = """if True:
        import os, pickle, sys
        import sibling
        import numpy as np, triton, triton.language as tl
        @triton.jit
        def k(p): tl.store(p, 3.)
        class Own: pass
        assert type(pickle.loads(pickle.dumps(Own()))) is Own
        os.chdir("/")
        x = np.zeros(1, np.float32)
        k[(1,)](x)
        print(__file__, k.fn.__code__.co_filename, sys.path[0], sys.argv, x[0], __name__, os.path.exists(__file__))
    """
    (tmp_path / "sub" / "it.py").write_text(textwrap.dedent(text))
    path = tmp_path / "sub" / "it.py"
    out = script("", "-m", "tegula", "sub/it.py", "a", cwd=tmp_path)
    assert out.strip() == f"{path} {path} {path.parent} ['sub/it.py', 'a'] 3.0 __main__ True"


def test_a_module_is_run(tmp_path):
    (tmp_path / "test_it.py").write_text("import triton\n\n\ndef test_name():\n    assert triton.__name__ == 'tegula'\n")
    out = script("", "-m", "tegula", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", cwd=tmp_path)
    assert "1 passed" in out


def test_modules_that_are_there_after_a_plain_import():
    script("""
        import tegula
        tegula.tools.tensor_descriptor.TensorDescriptor, tegula.compiler.code_generator.CompilationError
        try:
            tegula.tools.nothing
        except AttributeError:
            tegula._C.libtriton.nvidia.cublas.CublasLt
    """)


def test_no_machine_is_of_another_vendor():
    import numpy as np

    import tegula as triton
    import tegula.language as tl
    from tegula.language import target_info
    from tegula.language.target_info import is_hip_gfx1250

    @triton.jit
    def kernel(out_ptr):
        if is_hip_gfx1250() or tl.target_info.is_hip_rdna4() or target_info.is_hip_cdna3_or_newer():
            tl.store(out_ptr, 1)
        else:
            tl.store(out_ptr, target_info.get_cdna_version())

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == -1
    asked = [name for name in target_info.__all__ if "hip_" in name]
    assert len(asked) > 20 and not any(getattr(target_info, name)() for name in asked)


def test_parameters_of_a_kernel():
    import tegula as triton
    import tegula.language as tl

    @triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=[0])
    def kernel(x, n: tl.int64, p: tl.const, B: tl.constexpr, c="tl.constexpr", d: "tl.constexpr" = 3):
        pass

    params = kernel.params
    assert [p.is_constexpr for p in params] == [False, False, False, True, False, True]
    assert params[1].annotation_type == "i64" and params[1].do_not_specialize and params[0].do_not_specialize_on_alignment
    assert params[2].is_const and params[5].default == 3 and params[5].has_default and not params[0].has_default
    assert kernel.constexprs == [3, 5] and kernel.arg_names == ["x", "n", "p", "B", "c", "d"] and kernel.src.startswith("def kernel(")


def test_errors_have_what_upstreams_have():
    import tegula as triton
    import tegula.language as tl

    own = triton.CompilationError("a\nb = 1\n", ast.parse("a\nb = 1\n").body[1], "no `b`")
    assert str(own) == "at 2:0:\na\nb = 1\n^\nno `b`" == own.message and own.error_message == "no `b`"
    assert own.node.lineno == 2 and own.src == "a\nb = 1\n" and not own.diagnostics
    assert str(pickle.loads(pickle.dumps(own))) == str(own)
    assert str(triton.CompilationError(None, None)) == "<the source is not known>"

    @triton.jit
    def kernel(x):
        tl.store(x, missing)  # noqa: F821

    with pytest.raises(triton.CompilationError) as raised:
        kernel.warmup(triton.MockTensor(tl.float32), grid=(1,))
    error = raised.value
    assert "`missing` is not defined" in error.error_message and error.message == str(error)
    line = error.src.splitlines()[error.node.lineno - 1]
    assert line[error.node.col_offset:].startswith("missing")
    assert triton.InterpreterError("no").error_message == "no" and str(triton.InterpreterError(error_message="no")) == "no"


def test_globals_that_a_kernel_reads():
    import tegula as triton
    import tegula.language as tl

    scope = {"triton": triton, "tl": tl, "C": tl.constexpr(3), "D": tl.constexpr(4), "__name__": "scope"}
    text = "@triton.jit\ndef helper(x):\n    return x + C\n\n@triton.jit\ndef kernel(x):\n    tl.store(x, helper(D))\n"
    exec(text, scope)
    kernel = scope["kernel"]
    kernel.cache_key
    assert {name: value for (name, _), (value, _) in kernel.used_global_vals.items()} == {"C": scope["C"], "D": scope["D"]}
    assert all(found is kernel.__globals__ for _, found in kernel.used_global_vals.values())


def test_the_key_follows_the_source():
    import tegula as triton
    from tegula.language import constexpr

    def make(value):
        scope = constexpr(value)

        @triton.jit
        def inner(x):
            return x + scope

        @triton.jit
        def outer(x):
            return inner(x)

        return outer

    assert make(1).cache_key == make(1).cache_key != make(2).cache_key


def test_a_source_is_not_assigned_to():
    import tegula as triton

    @triton.jit
    def kernel(x):
        pass

    with pytest.raises(AttributeError, match="_unsafe_update_src"):
        kernel.src = "def kernel(x): pass"


def test_what_is_not_here_says_so():
    import tegula as triton

    for refused in (lambda: triton.compile("kernel.ttir"), lambda: triton.language.semantic.TritonSemantic(None),
                    lambda: triton.runtime.driver.active.utils.load_binary() if hasattr(triton.runtime.driver.active.utils, "load_binary")
                    else triton.testing.cuda_memcheck(), lambda: triton.jit(find).preload("")):
        with pytest.raises(NotImplementedError, match="hint: "):
            refused()


def test_names_without_a_meaning_give_the_reason_when_they_are_used():
    from tegula.backends.amd.compiler import HIPOptions
    from tegula.experimental import gluon
    from tegula.experimental.gluon import language as gl
    from tegula.experimental.gluon.language.nvidia.hopper import tma
    from tegula.profiler.hooks import HookManager
    from tegula.runtime.jit import DependenciesFinder

    @gluon.jit
    def kernel(x_ptr, layout: gl.constexpr):
        gl.store(x_ptr, 1)

    class Mine(HookManager):
        pass

    assert HookManager.active_hooks == [] and not isinstance(3, HIPOptions) and kernel.is_gluon() and kernel.__name__ == "kernel"
    for use in (lambda: kernel[(1, )], lambda: kernel.warmup(None), lambda: gl.BlockedLayout([1], [32], [4], [0]), tma.async_copy,
                lambda: HIPOptions(num_warps=4), Mine, lambda: DependenciesFinder("a", {}, {}, "")):
        with pytest.raises(NotImplementedError, match="not here: "):
            use()


def test_kernels_of_gluon_are_decorated_and_inspected_as_others_are():
    import numpy as np

    import tegula as triton
    from tegula.experimental import gluon
    from tegula.experimental.gluon import language as gl

    @triton.autotune(configs=[triton.Config({"BLOCK": 4})], key=["n"])
    @triton.heuristics({"EVEN": lambda arguments: True})
    @gluon.jit(do_not_specialize=["n"])
    def kernel(x_ptr, n, BLOCK: gl.constexpr, EVEN: gl.constexpr):
        gl.store(x_ptr + gl.arange(0, BLOCK), n)

    inner = kernel.fn.fn
    assert isinstance(inner, triton.JITFunction) and kernel.arg_names == ["x_ptr", "n", "BLOCK", "EVEN"]
    assert inner.params[1].do_not_specialize and inner.constexprs == [2, 3]
    with pytest.raises(NotImplementedError, match="gluon.jit of `kernel`"):
        kernel[(1, )](np.ones(4, np.float32), 4)


def test_parts_of_element_types():
    import tegula.language as tl

    assert [tl.dtype(name).fp_mantissa_width for name in tl.dtype.FP_TYPES] == [3, 3, 3, 2, 2, 10, 7, 23, 52]
    assert (tl.float8e4nv.exponent_bias, tl.float8e5b16.exponent_bias, tl.bfloat16.exponent_bias) == (7, 16, 127)
    assert (tl.int8.get_int_max_value(), tl.int8.get_int_min_value()) == (127, -128)
    assert (tl.uint64.get_int_max_value(), tl.uint64.get_int_min_value()) == (2**64 - 1, 0)
    assert tl.int1.get_int_max_value() == 1 and tl.int1.kind() == tl.dtype.KIND.BOOLEAN
    assert tl.uint8.int_signedness == tl.dtype.SIGNEDNESS.UNSIGNED and tl.float16.kind() == tl.dtype.KIND.FLOATING
    assert all(tl.dtype.is_dtype(name) and tl.dtype(name).name == name for name in tl.dtype.SINT_TYPES + tl.dtype.UINT_TYPES)
    assert tl.int32 == tl.constexpr(tl.int32) and tl.pi32_t == tl.constexpr(tl.pi32_t)
    for missing in ("fp_mantissa_width", "exponent_bias"):
        with pytest.raises(AttributeError):
            getattr(tl.int32, missing)
    with pytest.raises(AttributeError):
        tl.float32.int_bitwidth


def test_a_star_brings_the_functions_of_the_language(tmp_path):
    """Those of tl, of tl.math and of libdevice; no module comes with them but math and extra."""
    script = tmp_path / "stars.py"
    script.write_text(textwrap.dedent("""
        import torch
        import tegula as triton
        from tegula.language import *
        from tegula.language.extra.libdevice import *


        @triton.jit
        def kernel(x, out, N: constexpr):
            i = program_id(0) * N + arange(0, N)
            value = load(x + i).to(float32)
            store(out + i, where(i < 2, hypot(value, value), math.exp(value)) + sum(zeros([N], float32), 0))


        x, out = torch.ones(4), torch.zeros(4)
        kernel[(1,)](x, out, N=4)
        torch.testing.assert_close(out, torch.tensor([2 ** 0.5] * 2 + [2.7182818] * 2))
        names = set(globals())
        assert {"dot", "cdiv", "atomic_add", "softmax", "int8", "constexpr", "extra"} <= names, names
        assert not names & {"core", "semantic", "random", "standard"}, names
        stars = {}
        exec("from tegula.language.math import *", stars)
        assert {"exp", "sqrt", "fma"} <= set(stars) and "load" not in stars, set(stars)
    """))
    subprocess.run([sys.executable, str(script)], check=True)


COMMAND = """
import sys, triton, triton.language as tl, numpy, helper
@triton.jit
def kernel(out):
    tl.store(out, helper.NUMBER)
out = numpy.zeros(1)
kernel[(1,)](out)
print(triton.jit.__module__, out[0], sys.argv, repr(sys.path[0]), __name__, "__file__" in globals(), sys.modules["__main__"].out is out)
"""


def test_a_command_is_run_as_python_runs_one(tmp_path):
    (tmp_path / "helper.py").write_text("import triton.language as tl\nNUMBER = tl.constexpr(5)\n")
    out = script("", "-m", "tegula", "-c", COMMAND, "a", "-m", cwd=tmp_path)
    assert out == "tegula.runtime.jit 5.0 ['-c', 'a', '-m'] '' __main__ False True\n"


@pytest.mark.parametrize("arguments, status, says", [(["-c"], 2, "-c wants a command"), (["-c", "import sys; sys.exit(7)"], 7, ""),
                                                     (["-c", "print(("], 1, "SyntaxError"), (["-c", "1 / 0"], 1, 'File "<string>", line 1')])
def test_a_command_ends_as_python_ends_it(arguments, status, says):
    done = subprocess.run([sys.executable, "-m", "tegula", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == status and says in done.stderr and done.stdout == ""
