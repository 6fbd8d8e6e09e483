"""Variables of the environment that show what a compile made, under upstream's names and ours."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


def new_kernel():
    """A kernel that the process has not seen."""
    @triton.jit
    def dumped_kernel(x_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)

    return dumped_kernel


def launch(target="cpu"):
    kernel = new_kernel()
    kernel.target = target
    x = np.ones(16, np.float32)
    compiled = kernel[(1,)](x, N=16)
    assert (x == 2).all()
    return compiled


def files(folder):
    return {path.name: path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("switch,folder", [("TRITON_KERNEL_DUMP", "TRITON_DUMP_DIR"), ("TEGULA_KERNEL_DUMP", "TEGULA_DUMP_DIR")])
@pytest.mark.parametrize("target,stages", [("cpu", ["ttir", "llir", "asm", "obj"]),
                                           pytest.param("ptxvm", ["ttir", "ttgir", "llir", "ptx"], marks=pytest.mark.sim)])
def test_all_stages_become_files(switch, folder, target, stages, tmp_path, monkeypatch):
    monkeypatch.setenv(switch, "1")
    monkeypatch.setenv(folder, str(tmp_path))
    compiled = launch(target)
    found = files(tmp_path)
    assert {f"dumped_kernel.{stage}" for stage in stages} <= found.keys()
    assert found["dumped_kernel.ttir"].read_text() == compiled.asm["ttir"]
    before = set(found)
    launch(target)  # the same again, into the same folder
    assert set(files(tmp_path)) == before and len(list(tmp_path.iterdir())) == 1


def test_our_name_of_the_folder_goes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "theirs"))
    assert triton.knobs.cache.dump_dir == str(tmp_path / "theirs")
    monkeypatch.setenv("TEGULA_DUMP_DIR", str(tmp_path / "ours"))
    assert triton.knobs.cache.dump_dir == str(tmp_path / "ours")


def test_without_a_switch_nothing_is_shown(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path))
    launch()
    assert not files(tmp_path) and capfd.readouterr().err == ""


@pytest.mark.parametrize("switch", ["TEGULA_PRINT_LLVM", "LLVM_IR_ENABLE_DUMP"])
def test_llvm_ir_is_printed(switch, monkeypatch, capfd):
    monkeypatch.setenv(switch, "1")
    launch()
    said = capfd.readouterr().err
    assert "LLVM IR of dumped_kernel (cpu)" in said and "define " in said


@pytest.mark.sim
@pytest.mark.parametrize("switch", ["TEGULA_PRINT_PTX", "NVPTX_ENABLE_DUMP"])
def test_ptx_is_printed(switch, monkeypatch, capfd):
    monkeypatch.setenv(switch, "1")
    launch("ptxvm")
    assert ".visible .entry dumped_kernel" in capfd.readouterr().err


@pytest.mark.parametrize("switch", ["TEGULA_PRINT_TIMES", "MLIR_ENABLE_TIMING"])
def test_times_are_printed(switch, monkeypatch, capfd):
    monkeypatch.setenv(switch, "1")
    launch()
    assert "Times of dumped_kernel" in (said := capfd.readouterr().err) and " ms  " in said


@pytest.mark.parametrize("switch", ["TEGULA_PRINT_PASSES", "MLIR_ENABLE_DUMP"])
@pytest.mark.parametrize("value,is_shown", [("1", True), ("dumped_kernel", True), ("another_kernel", False), ("0", False)])
def test_the_kernel_is_printed_ahead_of_each_pass(switch, value, is_shown, monkeypatch, capfd):
    monkeypatch.setenv(switch, value)
    launch()
    said = capfd.readouterr().err
    assert ("optimize" in said and "tt.func" in said and "canonicalize" in said) == is_shown
    assert is_shown or said == ""


@pytest.mark.parametrize("switch", ["TEGULA_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING"])
def test_autotuning_is_printed(switch, monkeypatch, capsys):
    monkeypatch.setenv(switch, "1")
    tuned = triton.autotune(configs=[triton.Config({"N": 16}), triton.Config({"N": 8})], key=[], rep=1)(new_kernel())
    tuned[(1,)](np.ones(16, np.float32))
    assert "autotuning dumped_kernel" in capsys.readouterr().out


PLAIN_GLOBAL = 3


def test_plain_globals_are_allowed_where_the_environment_says_so(monkeypatch):
    @triton.jit
    def kernel(x_ptr):
        tl.store(x_ptr, PLAIN_GLOBAL)

    x = np.zeros(1, np.float32)
    with pytest.raises(triton.CompilationError, match="plain Python int"):
        kernel[(1,)](x)
    monkeypatch.setenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "1")
    kernel[(1,)](x)
    assert x[0] == 3
