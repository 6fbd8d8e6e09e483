"""``triton.compiler.compiler``: compiles a source for a target, without a launch."""
import hashlib
import json
import re
import time

from .. import _tegula as core
from .. import knobs
from ..backends import backends
from ..backends.compiler import BaseBackend, GPUTarget, Language
from ..backends.targets import OBEYED, target_name
from ..errors import OutOfResources, ToolchainError
from ..runtime.cache import get_cache_key, get_cache_manager, get_dump_manager, get_override_manager, triton_key
from ..runtime.compiled import CompiledKernel, LazyDict, Stages as AsmDict
from ..runtime.driver import driver
from ..runtime.dumps import overriding_stage
from ..runtime.hooks import default_options
from .source import ASTSource, IRSource

_SAVED = {"ttir": "ttir", "ptx": "ptx", "cubin": "cubin", "obj": "obj"}


def make_backend(target):
    """The compiler for a target."""
    fitting = [backend.compiler for backend in backends.values() if backend.compiler.supports_target(target)]
    if len(fitting) != 1:
        raise RuntimeError(f"no compiler of this build is for {target}; there are those for "
                           "GPUTarget(\"cuda\", 90, 32) and GPUTarget(\"cpu\", \"native\", 1)")
    return fitting[0](target)


def max_shared_mem(device):
    """Bytes of shared memory that a block may have."""
    return driver.active.utils.get_device_properties(device)["max_shared_mem"]


class CompileTimer:
    """Microseconds of the steps of a compile."""

    def __init__(self):
        self.start = time.perf_counter()
        self.compiled = None

    def finished_ir_initialization(self):
        """The front end's time is one of the steps that the compiler itself counts."""

    def stage_finished(self, stage_name):
        self.compiled = time.perf_counter()

    def end(self, kernel=None):
        stages = [(name, int(milliseconds * 1e3)) for name, milliseconds in (kernel.times if kernel else {}).items()]
        after = time.perf_counter() - (self.compiled or self.start)
        return knobs.CompileTimes(0, stages, int(after * 1e6))


def _capability(arch):
    """90 of "sm90", "sm_90a"."""
    found = re.fullmatch(r"sm_?(\d{2,3})[af]?", arch)
    if not found:
        raise ValueError(f"TRITON_OVERRIDE_ARCH is `{arch}`; it is an architecture such as sm90")
    return int(found[1])


def _options_of(options):
    """The options that the compiler takes. Names of other backends mean nothing here, as upstream's parse_options has it."""
    return {name: value for name, value in dict(options or {}).items() if name in OBEYED}


def _files_of(kernel, folder):
    """Writes the stages where code looks for them that loads kernels itself. {name: path}"""
    group = {}
    for stage in kernel.asm:
        if stage not in _SAVED or (knobs.compilation.store_binary_only and stage in ("ttir", "ptx")):
            continue
        name = f"{kernel.name}.{_SAVED[stage]}"
        try:
            group[name] = folder.put(kernel.asm[stage], name)
        except ToolchainError:  # there is no assembler here; a launch goes through the driver's
            continue
    name = f"{kernel.name}.json"
    text = {key: value for key, value in kernel.metadata._asdict().items() if isinstance(value, (str, int, float, type(None)))}
    group[name] = folder.put(json.dumps({**text, "target": vars(kernel.metadata.target)}), name, binary=False)
    folder.put_group(name, group)
    return group


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles `src` (an ASTSource) for `target` (else the active driver's), and returns a CompiledKernel. Its files are
    in the folder of its hash below TRITON_CACHE_DIR."""
    if not isinstance(src, ASTSource):
        src = IRSource(src)
    timer = CompileTimer()
    target = target or driver.active.get_current_target()
    if target.backend == "cuda" and knobs.runtime.override_arch:
        target = GPUTarget("cuda", _capability(knobs.runtime.override_arch), target.warp_size)
    backend = make_backend(target)
    given = {**default_options(), **_options_of(options)}
    if knobs.language.force_disable_fp_fusion:
        given["enable_fp_fusion"] = False
    parsed = backend.parse_options({**given, **src.parse_options()})
    key = hashlib.sha256(get_cache_key(src, backend, parsed, {}).encode()).hexdigest()
    device = 0 if target.backend == "cuda" else -1
    name = target_name(target) if target.backend == "cuda" else src.fn.target
    kernel = core.prepare(src.fn, name, device, src.rows(given))
    if knobs.compilation.override and given.get("ir_override") is None and (path := overriding_stage(kernel)):
        kernel = core.prepare(src.fn, name, device, src.rows({**given, "ir_override": path}))
    timer.stage_finished("binary")
    kernel = CompiledKernel.from_source(kernel, src, target, parsed, key)
    kernel.metadata_group = _files_of(kernel, get_cache_manager(key))
    if knobs.compilation.listener:
        knobs.compilation.listener(src=src, metadata=kernel.metadata._asdict(), metadata_group=kernel.metadata_group,
                                   times=timer.end(kernel), cache_hit="disk cache" in kernel.times)
    return kernel


def filter_traceback(error):
    """Tracebacks show the frames of the caller only: the compiler's are not Python's."""


def parse(full_name, ext, context):
    raise NotImplementedError(f"{full_name}: stages of a compile are not read from files")
