"""``triton.knobs``: the switches of a process, with upstream's names. Each is read from the environment until it is set
here. Those that nothing here obeys are kept with their values, and warn when they are set."""
import os
import warnings
from contextlib import contextmanager

from .knob_types import (AutotuneListener, CompilationListener, CompileTimes, Env, HookChain, InitHandleHook, JITHook,
                         LaunchHook, NvidiaTool, env, env_base, env_bool, env_class, env_int, env_nvidia_tool, env_opt_bool,
                         env_opt_str, env_str, env_str_callable_default, env_strs, getenv, getenv_bool, setenv, toenv)


_watchers = []


def _notice():
    for watcher in _watchers:
        watcher()


class base_knobs:
    """A group of switches."""

    @property
    def knob_descriptors(self):
        return {name: value for name, value in vars(type(self)).items() if hasattr(value, "key")}

    @property
    def knobs(self):
        """All of the group and their values."""
        names = [name for name in vars(type(self)) if not name.startswith("_") and not callable(getattr(type(self), name))]
        return {name: self._told(name) for name in [*names, *vars(self)] if not name.startswith("_")}

    def _told(self, name):
        knob = self.knob_descriptors.get(name)
        return knob.get() if isinstance(knob, env_nvidia_tool) and name not in vars(self) else getattr(self, name)

    def copy(self):
        other = type(self)()
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, HookChain) else value)
        return other

    def reset(self):
        """Forgets the switches that were set here; hooks and listeners stay."""
        for name in self.knob_descriptors:
            vars(self).pop(name, None)
        _notice()
        return self

    @contextmanager
    def scope(self):
        """Values that are set inside end with the block, those of the environment's variables too."""
        before = {name: value.copy() if isinstance(value, HookChain) else value for name, value in vars(self).items()}
        environment = {knob.key: os.environ.get(knob.key) for knob in self.knob_descriptors.values()}
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)
            for key, value in environment.items():
                setenv(key, value)
            _notice()


class build_knobs(base_knobs):
    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl = None

    @property
    def backend_dirs(self):
        """The folders that are set, for those who build against them."""
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


class cache_knobs(base_knobs):
    home_dir = env_str_callable_default("TRITON_HOME", lambda: os.path.expanduser("~/"))
    dir = env_str_callable_default("TRITON_CACHE_DIR", lambda: cache.get_triton_dir("cache"))
    dump_dir = env_str_callable_default("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"), "TEGULA_DUMP_DIR")
    override_dir = env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(base_knobs):
    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP", ours="TEGULA_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES", obeyed=False)
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC", obeyed=False)
    enable_asan = env_bool("TRITON_ENABLE_ASAN", obeyed=False)
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO", obeyed=False)
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING", obeyed=False)
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = env_str("TRITON_INSTRUMENTATION_MODE", "", obeyed=False)
    fpsan_homomorphic_casts = env_bool("TRITON_FPSAN_HOMOMORPHIC_CASTS", obeyed=False)
    listener = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        _notice()


class autotuning_knobs(base_knobs):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING", ours="TEGULA_PRINT_AUTOTUNING")
    listener = None


class runtime_knobs(base_knobs):
    interpret = env_bool("TRITON_INTERPRET")
    debug = env_bool("TRITON_DEBUG")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")
    jit_cache_hook = None
    jit_post_compile_hook = None
    add_stages_inspection_hook = None

    def __init__(self):
        vars(self).update(launch_enter_hook=HookChain(), launch_exit_hook=HookChain(reversed=True),
                          kernel_load_start_hook=HookChain(), kernel_load_end_hook=HookChain(reversed=True),
                          kernel_unload_hook=HookChain())
        _notice()

    def __setattr__(self, name, value):
        if name == "add_stages_inspection_hook" and value is not None:
            warnings.warn("knobs: nothing here calls `add_stages_inspection_hook`", stacklevel=2)
        super().__setattr__(name, value)
        _notice()

    def __delattr__(self, name):
        super().__delattr__(name)
        _notice()


class language_knobs(base_knobs):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)
    force_disable_fp_fusion = env_bool("TRITON_FORCE_DISABLE_FP_FUSION")

    def fp_fusion_enabled(self, requested=None):
        """Are products and sums of a kernel fused whose option `enable_fp_fusion` is `requested`; None: it says nothing?"""
        return not self.force_disable_fp_fusion and (self.default_fp_fusion if requested is None else bool(requested))


class nvidia_knobs(base_knobs):
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas", "TRITON_PTXAS_BLACKWELL_PATH", obeyed=False)
    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP", ours="TEGULA_PRINT_PTX")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT", obeyed=False)
    ptxas_options = env_opt_str("PTXAS_OPTIONS", obeyed=False)
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION", obeyed=False)
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG", obeyed=False)
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH", obeyed=False)
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH", obeyed=False)


class amd_knobs(base_knobs):
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True, obeyed=False)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True, obeyed=False)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE", obeyed=False)
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP", obeyed=False)
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH", obeyed=False)
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG", obeyed=False)
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE", obeyed=False)
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY", obeyed=False)
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS", obeyed=False)


class proton_knobs(base_knobs):
    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_opt_str("TRITON_CUPTI_LIB_PATH", obeyed=False)
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True, obeyed=False)


def when_hooks_change(function):
    """Calls `function` after each change of the hooks and of `runtime`."""
    _watchers.append(function)
    HookChain.watchers = _watchers
    function()


build, redis, cache, compilation = build_knobs(), redis_knobs(), cache_knobs(), compilation_knobs()
autotuning, runtime, language = autotuning_knobs(), runtime_knobs(), language_knobs()
nvidia, amd, proton = nvidia_knobs(), amd_knobs(), proton_knobs()
propagate_env = True


def refresh_knobs():
    """Switches read the environment when they are asked; nothing is left to read again."""
