"""triton.compile: a kernel for a signature and a target, without a launch; and its launch by `run`."""
import collections
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.backends.compiler import GPUTarget
from tegula.backends.nvidia.driver import CudaDriver
from tegula.compiler.compiler import ASTSource, make_backend
from tegula.runtime.driver import driver
from tegula.runtime.jit import compute_cache_key, create_function_from_signature

CPU, GPU = GPUTarget("cpu", "native", 1), GPUTarget("cuda", 90, 32)


@triton.jit
def scale(x_ptr, out_ptr, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * factor, mask=offsets < n)


SIGNATURE = {"x_ptr": "*fp32", "out_ptr": "*fp32", "factor": "fp32", "n": "i32", "BLOCK": "constexpr"}
ALIGNED = {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}


def source(**changed):
    return ASTSource(scale, {**SIGNATURE, **changed}, {"BLOCK": 64}, ALIGNED)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    return tmp_path


def launch(kernel, x, factor, n):
    out = np.zeros_like(x)
    kernel.run(2, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, x, out, factor, n, 64)
    return out


@pytest.mark.parametrize("target", ["cpu", "interp", "ptxvm"])
def test_runs(target):
    scale.target = target
    try:
        kernel = triton.compile(source(), target=CPU, options={"num_warps": 2})
        x = np.arange(100, dtype=np.float32)
        assert (launch(kernel, x, 0.5, 99)[:99] == x[:99] * 0.5).all()
        assert (kernel[(2,)](x, out := np.zeros_like(x), 3, 100, 64), out == 3 * x)[1].all()
    finally:
        scale.target = "cpu"


@triton.jit(do_not_specialize=["shift"])
def pinned(x_ptr, n: tl.int64, shift, factor: tl.float32, BLOCK: tl.constexpr, plus=3, kind: tl.constexpr = None):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, (offsets + shift) * factor + plus, mask=offsets < n)


def test_a_call_is_bound_and_compiled_step_by_step():
    x = np.zeros(64, np.float32)
    backend = make_backend(GPU)
    bind = create_function_from_signature(pinned.signature, pinned.params, backend)
    bound, kinds, options = bind(x, 32, 16, factor=2.0, BLOCK=64, num_warps=2)
    assert list(bound) == pinned.arg_names and bound["plus"] == 3 and options == {"num_warps": 2}
    assert kinds == [("*fp32", "D"), ("i64", "D"), ("i32", None), ("fp32", None), ("constexpr", 64), ("i32", ""), ("constexpr", None)]
    parsed, signature, constants, attributes = pinned._pack_args(backend, options, bound, kinds, options)
    assert signature["n"] == "i64" and constants == {(4,): 64, (6,): None} and parsed.num_warps == 2
    assert attributes == {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]], (5,): []}
    kernel = triton.compile(ASTSource(pinned, signature, constants, attributes), target=GPU, options=vars(parsed))
    assert kernel.metadata.num_warps == 2 and ".reqntid 64" in kernel.asm["ptx"].replace(",", "")
    with pytest.raises(KeyError, match="num_wraps"):
        pinned._pack_args(backend, {"num_wraps": 2}, bound, kinds, options)
    with pytest.raises(TypeError, match="BLOCK"):
        bind(x, 32, 16, 2.0)
    keys = {}
    assert compute_cache_key(keys, kinds, options) == compute_cache_key(keys, list(kinds), options) and len(keys) == 1
    assert compute_cache_key(keys, kinds, {}) != compute_cache_key(keys, kinds, options)


def test_the_caches_of_a_kernel_bind_calls_too():
    x = np.zeros(64, np.float32)
    _, _, target, backend, bind = pinned.device_caches[0]
    bound, kinds, options = bind(x, 8, 1, 2.0, 64)
    packed = pinned._pack_args(backend, options, bound, kinds, options)
    kernel = pinned._do_compile(compute_cache_key({}, kinds, options), packed[1], 0, packed[2], packed[0], packed[3], True)
    assert isinstance(kernel, pinned.CompiledKernel) and kernel.src.fn is pinned and make_backend(target).target == target
    kernel[(1, 1, 1)](*bound.values())
    assert (x[:8] == (np.arange(8) + 1) * 2 + 3).all() and not x[8:].any()


class OfAnother(CudaDriver):
    """A driver as programs make them that compile where no GPU is."""

    def get_current_target(self):
        return GPU

    def get_current_device(self):
        return 0


def test_warmup_compiles_for_the_target_of_a_driver_that_was_set():
    x = np.zeros(64, np.float32)
    driver.set_active(OfAnother())
    try:
        kernel = pinned.warmup(triton.MockTensor(tl.float16), 32, 16, factor=2.0, BLOCK=64, num_warps=2, grid=(1,))
        assert kernel.metadata.target == GPU and kernel.metadata.num_warps == 2 and "st.global" in kernel.asm["ptx"]
        with triton.AsyncCompileMode(ThreadPoolExecutor(1)):
            later = pinned.warmup(triton.MockTensor(tl.float16), 32, 16, 2.0, 64, grid=(1,))
        assert ".target sm_90" in later.result().asm["ptx"]
        with pytest.raises(KeyError, match="num_wraps"):
            pinned.warmup(x, 32, 16, 2.0, 64, num_wraps=2, grid=(1,))
        pinned[(1,)](x, 8, 1, 2.0, 64)  # runs where its arguments are
        assert (x[:8] == (np.arange(8) + 1) * 2 + 3).all()
    finally:
        driver.reset_active()
    assert "ptx" not in pinned.warmup(x, 8, 1, 2.0, 64, grid=(1,)).asm


@triton.jit
def all_of(out_ptr, *rest):
    tl.store(out_ptr, rest[0])


def test_a_kernel_with_a_rest_is_not_compiled_for_another_drivers_target(monkeypatch):
    monkeypatch.setattr(driver.active, "get_current_target", lambda: GPU, raising=False)
    with pytest.raises(NotImplementedError, match="takes `[*]rest`"):
        all_of.warmup(np.zeros(1, np.float32), 1.0, grid=(1,))


def test_warmup_compiles_for_a_target_that_was_put_into_the_driver(monkeypatch):
    monkeypatch.setattr(driver.active, "get_current_target", lambda: GPUTarget("cuda", 80, 32), raising=False)
    assert ".target sm_80" in pinned.warmup(triton.MockTensor(tl.float32), 32, 16, 2.0, 64, grid=(1,)).asm["ptx"]
    monkeypatch.setattr(driver.active, "get_current_target", lambda: GPUTarget("hip", "gfx942", 64))
    with pytest.raises(RuntimeError, match="no compiler of this build"):
        pinned.warmup(triton.MockTensor(tl.float32), 32, 16, 2.0, 64, grid=(1,))


def test_compiles_for_a_gpu_that_is_not_here(folder):
    kernel = triton.compile(source(), target=GPU, options={"num_warps": 8, "enable_fp_fusion": False, "launch_pdl": False})
    assert ".target sm_90" in kernel.asm["ptx"] and kernel.metadata.num_warps == 8 and kernel.name == "scale"
    from tegula.runtime.cache import _base32

    files = {path.name for path in (folder / _base32(kernel.hash)).iterdir()}
    assert {"scale.ptx", "scale.ttir", "scale.json", "__grp__scale.json"} <= files


def test_the_key_is_that_of_all_that_counts():
    keys = {triton.compile(src, target=CPU, options=options).hash for src, options in (
        (source(), {}), (source(n="i64"), {}), (source(), {"num_warps": 8}),
        (ASTSource(scale, SIGNATURE, {"BLOCK": 32}, ALIGNED), {}), (ASTSource(scale, SIGNATURE, {"BLOCK": 64}), {}))}
    assert len(keys) == 5 and triton.compile(source(), target=CPU).hash in keys


@pytest.mark.parametrize("target", [CPU, GPUTarget("cuda", 90, 32)])
def test_options_of_other_backends_mean_nothing(target):
    others = {"foo": 1, "cluster_dims": (1, 1, 1), "num_consumer_groups": 2, "num_buffers_warp_spec": 3, "reg_dec_producer": 1}
    kernel = triton.compile(source(), target=target, options={"num_warps": 2, **others})
    assert kernel.metadata.num_warps == 2 and not hasattr(kernel.metadata, "foo")
    with pytest.raises(KeyError, match="num_consumer_groups"):
        scale[(1,)](np.zeros(1, np.float32), np.zeros(1, np.float32), 1.0, 1, BLOCK=4, num_consumer_groups=2)


def test_stages_are_a_dictionary_that_is_filled_when_asked():
    asm = triton.compile(source(), target=GPUTarget("cuda", 90, 32)).asm
    assert isinstance(asm, dict) and isinstance(asm.copy(), dict) and {**asm} == dict(asm) == asm.copy() == asm
    assert not asm != asm.copy() and ".visible .entry" in str(asm) and asm.get("ptx") == dict(asm.items())["ptx"]
    assert [*asm] == [*asm.keys()] and len(asm) == len(asm.values()) and bool(asm) and asm.get("nothing", 3) == 3
    assert (asm | {"mine": 1})["mine"] == 1 and "ptx" in (asm | {}) and "ttir" in ({} | asm)
    asm["ptx"] = "another"
    assert asm["ptx"] == "another" and [*asm].count("ptx") == 1
    with pytest.raises(KeyError):
        asm["nothing"]


def test_metadata_names_the_version_and_the_scratch_of_all_targets():
    for target in (CPU, GPUTarget("cuda", 90, 32)):
        metadata = triton.compile(source(), target=target).metadata
        assert metadata.triton_version == triton.__version__
        assert metadata.global_scratch_size == metadata.profile_scratch_size == 0


def test_numbers_have_the_letters_of_upstream():
    from tegula.runtime.jit import native_specialize_impl

    def kind(value):
        return native_specialize_impl(None, value, False, True, True)

    assert kind(np.int32(7)) == ("i32", "") and kind(np.int64(32)) == ("i32", "D") and kind(np.int8(1)) == ("constexpr", 1)
    assert kind(np.float32(1.5)) == kind(np.float64(2)) == ("fp32", None) and kind(np.bool_(True)) == ("u1", None)
    assert kind(np.zeros(4, np.int32))[0] == kind(np.array(3, np.int32))[0] == "*i32"
    for number in (-2**63 - 1, 2**64):
        with pytest.raises(OverflowError):
            kind(number)
    assert kind(-2**63)[0] == "i64" and kind(2**63)[0] == "u64"


def test_a_type_that_does_not_exist():
    with pytest.raises(ValueError, match="`n: i33`"):
        triton.compile(source(n="i33"), target=CPU)
    with pytest.raises(ValueError, match="neither a type nor a constant"):
        triton.compile(ASTSource(scale, {name: kind for name, kind in SIGNATURE.items() if name != "n"}, {"BLOCK": 64}), target=CPU)


def test_wrong_arguments_of_a_run():
    kernel = triton.compile(source(), target=CPU)
    x = np.zeros(64, np.float32)
    with pytest.raises(triton.LaunchError, match="`n`"):
        launch(kernel, x, 1.0, 2.5)
    with pytest.raises(triton.LaunchError, match="`factor`"):
        launch(kernel, x, x, 4)


def test_kernels_are_passed_between_processes(monkeypatch):
    """As Inductor's workers do it: what was compiled comes back as bytes, and runs here."""
    kernel = triton.compile(source(), target=CPU)
    monkeypatch.setattr(scale, "fn", None)  # a function of a generated file has no name that pickle finds
    state = pickle.loads(pickle.dumps({name: value for name, value in vars(kernel).items() if name != "metadata"}))
    other = triton.compiler.CompiledKernel.__new__(triton.compiler.CompiledKernel)
    other.__dict__.update(state, metadata=kernel.metadata, run=None, function=None)
    other._init_handles()
    x = np.arange(64, dtype=np.float32)
    assert (launch(other, x, 2.0, 64) == 2 * x).all() and other.src.fn.arg_names == scale.arg_names


def by_launch():
    return scale[(1,)](np.zeros(64, np.float32), np.zeros(64, np.float32), 2.0, 64, 64, num_warps=2, num_stages=5)


@pytest.mark.parametrize("make", [by_launch, lambda: triton.compile(source(), target=CPU, options={"num_warps": 2, "num_stages": 5})],
                         ids=["launched", "compiled"])
def test_kernels_are_pickled(make):
    kernel = make()
    other = pickle.loads(pickle.dumps(kernel))
    assert other.metadata == kernel.metadata and other.name == kernel.name and other.target == "cpu"
    assert other.arguments == kernel.arguments and other.hash == kernel.hash and other.n_regs == kernel.n_regs
    x = np.arange(64, dtype=np.float32)
    assert (launch(other, x, 2.0, 64) == 2 * x).all()
    out = np.zeros_like(x)
    pickle.loads(pickle.dumps(kernel))[(1,)](x, out, 3.0, 64, 64)
    assert (out == 3 * x).all()


def test_kernels_for_a_gpu_are_pickled():
    kernel = triton.compile(source(), target=GPU)
    other = pickle.loads(pickle.dumps(kernel))
    assert other.asm["ptx"] == kernel.asm["ptx"] and other.metadata.num_warps == 4 and other.src.signature == kernel.src.signature


@pytest.mark.parametrize("make", [by_launch, lambda: triton.compile(source(), target=CPU, options={"num_warps": 2, "num_stages": 5})],
                         ids=["launched", "compiled"])
def test_what_a_kernel_tells_of_itself(make):
    kernel = make()
    told = kernel.metadata
    assert (told.num_warps, told.num_stages, told.debug, told.enable_fp_fusion) == (2, 5, False, True)
    assert told.maxnreg is None and told.extern_libs is None and told.launch_pdl is False and told.arch == "native"
    assert told.warp_size == 1 and kernel.n_max_threads > 0
    assert kernel.src.fn is scale and kernel.src.signature["x_ptr"] == "*fp32" and kernel.src.constants == {(4,): 64}
    assert kernel.src.language is triton.backends.compiler.Language.TRITON
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    kernel[(1, 1, 1)](x, out, 2.0, 64, 64, stream=0)
    assert (out == 2).all()


def test_stages_are_listed_where_no_tool_makes_them(monkeypatch):
    for kernel in (by_launch(), triton.compile(source(), target=GPU)):
        stages = dict(kernel.asm)
        assert "sass" not in stages and "tt.func" in stages["ttir"] and kernel.asm["source"] == stages["ttir"]
        assert len(kernel.asm) == len(stages) == len(list(kernel.asm.items())) and kernel.asm.get("nothing") is None


def test_files_of_a_kernel_with_a_long_name(folder):
    long = triton.jit(scale.fn, repr=lambda specialization: "n" * 300)
    kernel = triton.compile(ASTSource(long, SIGNATURE, {"BLOCK": 64}), target=GPU)
    assert kernel.name == "n" * 300 and all(len(path.name) <= 255 for path in folder.rglob("*"))
    assert kernel.metadata_group["n" * 300 + ".json"] and ".target sm_90" in open(kernel.metadata_group["n" * 300 + ".ptx"]).read()


def test_a_group_with_a_hole_is_none(folder):
    files = triton.runtime.cache.get_cache_manager("ab" * 16)
    path = files.put("text", "a" * 300 + ".ptx")
    assert files.get_file("a" * 300 + ".ptx") == path and files.get_file("a" * 299 + ".ptx") is None
    files.put_group("k.json", {"one": path})
    assert files.get_group("k.json") == {"one": path}
    files.put_group("k.json", {"one": path, "two": path + "x"})
    assert files.get_group("k.json") is None
    for damaged in ("{", "[]", '{"child_paths": 3}', '{"other": {}}'):
        files.put(damaged, "__grp__k.json", binary=False)
        assert files.get_group("k.json") is None


def test_what_is_written_is_told():
    """torch.compile walks a kernel for the arguments that it writes."""
    backend = make_backend(CPU)
    module = source().make_ir(CPU, backend.parse_options({}), {}, backend.get_module_map(), None)
    seen = []
    module.walk(lambda operation: seen.append((operation.get_name(), [operation.get_operand(i).id() for i in range(operation.get_num_operands())])))
    loads = [operands for name, operands in seen if name == "tt.load"]
    stores = [operands for name, operands in seen if name == "tt.store"]
    assert len(loads) == 2 and len(stores) == 1 and stores[0][0] == loads[1][0]


def test_no_compiler_for_a_target():
    with pytest.raises(RuntimeError, match="no compiler of this build"):
        triton.compile(source(), target=GPUTarget("hip", "gfx942", 64))


@pytest.mark.parametrize("arguments", [({"x": "*fp32"}, {"Q": 1}), ({"x": "*fp32", "y": "i32"}, {})])
def test_names_of_no_parameter_are_refused(arguments):
    @triton.jit
    def kernel(x, B: tl.constexpr = 4):
        tl.store(x, B)

    with pytest.raises(ValueError, match="`kernel` has no parameter `[Qy]`\n.*x, B"):
        triton.compiler.ASTSource(kernel, *arguments)


@triton.jit
def add_through_descriptors(x, pair, row, B: tl.constexpr):
    y, out = pair
    out.store([row, 0], x.load([row, 0]) + y.load([row, 0]) * B)


DESCRIBED = {"x": "tensordesc<fp32[8, 16]>", "pair": ("tensordesc<fp32[8,16]>", "tensordesc<fp32[8, 16]>"), "row": "i32", "B": "constexpr"}


@pytest.mark.parametrize("target", ["cpu", "interp", "ptxvm"])
def test_signatures_with_descriptors(target):
    from tegula.tools.tensor_descriptor import TensorDescriptor

    add_through_descriptors.target = target
    try:
        kernel = triton.compile(ASTSource(add_through_descriptors, DESCRIBED, {"B": 3}), target=CPU)
        x, y, out = (np.arange(10 * 24, dtype=np.float32).reshape(10, 24) + i for i in range(3))
        before = out.copy()
        x, y = x[:, :20], y[:, :12]  # strides are no multiples of 16, and extents none of the block
        args = (TensorDescriptor.from_tensor(x, [8, 16]), tuple(TensorDescriptor.from_tensor(t, [8, 16]) for t in (y, out)))
        kernel[(1,)](*args, 4, 3)
        expected = before.copy()
        expected[4:10, :16] = x[4:10, :16]
        expected[4:10, :12] += 3 * y[4:10]
        assert (out == expected).all()
        nan = TensorDescriptor(x, [10, 20], [24, 1], [8, 16], padding="nan")
        with pytest.raises(triton.LaunchError, match="NaN"):
            kernel[(1,)](nan, args[1], 4, 3)
    finally:
        add_through_descriptors.target = "cpu"


def test_descriptors_of_a_signature_are_accessed_in_runs():
    for kind, width in (("fp32", 4), ("fp16", 8), ("fp8e5", 16)):
        text = f"tensordesc<{kind}[64, 64]>"

        @triton.jit
        def copy(x, y):
            y.store([0, 0], x.load([0, 0]))

        kernel = triton.compile(ASTSource(copy, {"x": text, "y": text}, {}, ALIGNED), target=GPU)
        assert f"simt.width = {width} : i32" in kernel.asm["ttgir"], kind


def test_wrong_descriptors_of_a_signature():
    def compiled(text):
        return triton.compile(ASTSource(add_through_descriptors, {**DESCRIBED, "x": text}, {"B": 3}), target=CPU)

    with pytest.raises(ValueError, match="`x: tensordesc<fp32>`, which is no tensor descriptor"):
        compiled("tensordesc<fp32>")
    with pytest.raises(ValueError, match="there is no type `fp33`"):
        compiled("tensordesc<fp33[8, 16]>")
    with pytest.raises(NotImplementedError, match=r"names a layout of shared memory[^`]*\n.*`tensordesc<fp32\[8, 16\]>`"):
        compiled("tensordesc<fp32[8, 16],NVMMASharedLayout(swizzle_byte_width=128)>")
    with pytest.raises(triton.CompilationError):
        compiled("tensordesc<fp32[8, 0]>")


Pair = collections.namedtuple("Pair", "x y")


@triton.jit
def both(pair, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(pair[0] + i) + tl.load(pair[1] + i))


@pytest.mark.parametrize("make", [
    lambda dtype: dtype,
    lambda dtype: torch.zeros(16, dtype=dtype),
    lambda dtype: torch.zeros(16, dtype=dtype, device="meta")])
@pytest.mark.parametrize("gather", [lambda *values: values, Pair])
def test_warmup_asks_no_memory_of_a_gpu(make, gather):
    """Types alone, tensors of the host and tensors without memory stand for those that a launch will have, in tuples, too."""
    triton.set_target("sm_90a")
    try:
        pair = gather(make(torch.float16), make(torch.float16))
        kernel = both.warmup(pair, make(torch.float16), BLOCK=16, grid=(1,))
        assert "add" in kernel.asm["ptx"] and ".f16" in kernel.asm["ptx"]
        with pytest.raises(Exception, match="host's memory|device `meta`|dtype|constant"):
            both[(1,)](pair, make(torch.float16), BLOCK=16)
    finally:
        triton.set_target("cpu")
