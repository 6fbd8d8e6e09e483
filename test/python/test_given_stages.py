"""Stages of a compile that a file gives: the option ir_override, and TRITON_KERNEL_OVERRIDE with its folder."""
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.backends.compiler import GPUTarget
from tegula.compiler import ASTSource

TARGETS = [("interp", "ttir"), ("cpu", "ttir"), ("cpu", "llir"), ("ptxvm", "ttir"), ("ptxvm", "llir"), ("ptxvm", "ptx")]


@triton.jit
def scale(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2.0, mask=i < n)


@pytest.fixture(autouse=True)
def target(request):
    yield
    triton.set_target("cpu")


def tenfold(text, stage):
    """The stage of a kernel that multiplies by 10 where it multiplied by 2."""
    spellings = {"ttir": (r"dense<2\.0+e\+00>", "dense<1.0e+01>"),
                 "llir": (r"(float|,) 2\.0+e\+00", r"\1 1.000000e+01"), "ptx": (r"0f40000000", "0f41200000")}
    changed = re.sub(*spellings[stage], text)
    if changed == text:  # x * 2 is x + x there
        changed = re.sub(r"fadd (.*)(%\w+), \2(.*)", r"fmul \1\2, splat (float 1.000000e+01)\3" if "<" in text
                         else r"fmul \1\2, 1.000000e+01\3", text)
        changed = re.sub(r"add\.(?:rn\.)?f32 (\s*%\w+), (%\w+), \2;", r"mul.f32 \1, \2, 0f41200000;", changed)
    assert changed != text, text
    return changed


def run(**options):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    return scale[(1,)](x, out, 13, B=16, **options), out


def times(factor):
    return np.where(np.arange(16) < 13, factor * np.arange(16, dtype=np.float32), 0)


@pytest.mark.parametrize("name, stage", TARGETS)
def test_the_compile_goes_on_from_a_file(name, stage, tmp_path):
    triton.set_target(name)
    kernel, out = run()
    np.testing.assert_array_equal(out, times(2))
    path = tmp_path / f"scale.{stage}"
    path.write_text(tenfold(kernel.asm[stage], stage))
    for _ in range(2):
        other, out = run(ir_override=str(path))
        np.testing.assert_array_equal(out, times(10))
        assert other is not kernel
    assert run()[0] is kernel
    path.write_text(kernel.asm[stage])  # another content under the name is another kernel
    np.testing.assert_array_equal(run(ir_override=str(path))[1], times(2))


def test_a_configuration_may_name_one(tmp_path):
    path = tmp_path / "mine.ttir"
    path.write_text(tenfold(run()[0].asm["ttir"], "ttir"))
    tuned = triton.autotune([triton.Config({"B": 16}, ir_override=str(path))], key=["n"])(scale)
    out = np.zeros(16, np.float32)
    tuned[(1,)](np.arange(16, dtype=np.float32), out, 13)
    np.testing.assert_array_equal(out, times(10))


WRONG = [
    ("ttir", lambda text: text.replace("tt.store", "tt.stare"), "is no tile IR: line .*stare"),
    ("ttir", lambda text: text.replace("i32 {", "i64 {", 1).replace(": i32)", ": i64)", 1), "is no tile IR|of the type"),
    ("ttir", lambda text: "module {\n}\n", "not one kernel"),
    ("llir", lambda text: text.replace("define", "defiine"), "is no LLVM IR: line [0-9]+"),
    ("llir", lambda text: text.replace("@scale(", "@other("), "has no function `scale`"),
    ("llir", lambda text: text.replace('"nvvm.reqntid"="128', '"nvvm.reqntid"="256'), "another number of warps"),
    ("ptx", lambda text: text.replace(".entry scale(", ".entry other("), "the entry `other`, and the call's is `scale`"),
    ("ptx", lambda text: text.replace(".reqntid 128", ".reqntid 256"), "for 256 threads, and the call has 128"),
    ("ptx", lambda text: text.replace(".param .u32 ", ".param .u64 ", 1), "parameters of 64, 64, 64, 64, 64 bits"),
    ("ptx", lambda text: ".version 8.4\n", "has 0 entries"),
    ("ttgir", lambda text: text, "is the stage `ttgir`; the compile goes on from: ttir, llir, ptx"),
]


@pytest.mark.parametrize("stage, change, reason", WRONG, ids=[reason[:24] for _, _, reason in WRONG])
def test_what_does_not_fit_the_call_is_refused(stage, change, reason, tmp_path):
    triton.set_target("ptxvm")
    path = tmp_path / f"scale.{stage}"
    path.write_text(change(run()[0].asm[stage]))
    with pytest.raises(triton.CompilationError, match=reason) as info:
        run(ir_override=str(path))
    assert str(path) in str(info.value)


def test_a_file_that_is_not_there():
    with pytest.raises(triton.LaunchError, match="`ir_override` was given `/nowhere/scale.ptx`: No such file"):
        run(ir_override="/nowhere/scale.ptx")
    with pytest.raises(triton.LaunchError, match="`ir_override` was given the int 3"):
        run(ir_override=3)


def test_the_cores_refuse_stages_of_gpus(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text("")
    with pytest.raises(triton.CompilationError, match="the compile goes on from: ttir, llir"):
        run(ir_override=str(path))


@pytest.mark.parametrize("name, stage", [("cpu", "ttir"), ("ptxvm", "ptx")])
def test_what_was_dumped_and_changed_is_taken(name, stage, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TEGULA_DUMP_DIR", str(tmp_path / "dump"))
    knobs = triton.knobs
    triton.set_target(name)
    with knobs.compilation.scope(), knobs.cache.scope():
        knobs.compilation.dump_ir = True
        kernel = triton.jit(scale.fn)
        kernel[(1,)](np.zeros(16, np.float32), np.zeros(16, np.float32), 13, B=16)
        knobs.compilation.dump_ir = False
        dumped, = (tmp_path / "dump").glob(f"*/scale.{stage}")
        folder = tmp_path / "override" / dumped.parent.name
        folder.mkdir(parents=True)
        (folder / dumped.name).write_text(tenfold(dumped.read_text(), stage))
        knobs.cache.override_dir, knobs.compilation.override = str(tmp_path / "override"), True
        for _ in range(2):
            out = np.zeros(16, np.float32)
            kernel[(1,)](np.arange(16, dtype=np.float32), out, 13, B=16)
            np.testing.assert_array_equal(out, times(10))
        assert capfd.readouterr().out.count("Overriding kernel with file") == 1
        for other in folder.iterdir():
            other.unlink()
        shutil.copy(dumped.parent / ("scale.obj" if name == "cpu" else "scale.ttgir"), folder)
        with pytest.warns(UserWarning, match="goes on from .ttir, .llir or .ptx"):
            out = np.zeros(16, np.float32)
            triton.jit(scale.fn)[(1,)](np.arange(16, dtype=np.float32), out, 13, B=16)
        np.testing.assert_array_equal(out, times(2))


def test_without_a_launch(tmp_path):
    source = ASTSource(scale, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"B": 16})
    plain = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    path = tmp_path / "scale.ptx"
    path.write_text(plain.asm["ptx"].replace("ret;", "// mine\n\tret;"))
    other = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"ir_override": str(path)})
    assert "// mine" in other.asm["ptx"] and other.metadata.ir_override == str(path)
    assert Path(path).read_text() == other.asm["ptx"]
