"""Addresses made with `%`: wide accesses where remainders follow each other, and no wrong number where they do not (M22)."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def wrapped_kernel(x_ptr, out_ptr, shift, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + (shift + i) % n))


@pytest.mark.parametrize("shift, n", [(0, 256), (16, 256), (240, 256), (0, 1024), (3, 255), (-5, 255)])
def test_each_element_comes_from_its_remainder(target, shift, n):
    memory = torch.arange(4096, dtype=torch.float32)
    x, out = memory[2048:], torch.zeros(512)
    wrapped_kernel[(1,)](x, out, shift, n, B=512)
    index = torch.tensor([abs(shift + i) % n * (1 if shift + i >= 0 else -1) for i in range(512)])
    assert torch.equal(out, memory[2048 + index])


@pytest.mark.sim
@pytest.mark.parametrize("shift, n", [(-512, 256), (-256, 256)])
def test_a_torn_run_ends_the_launch(shift, n, monkeypatch):
    """The remainders of -256, -255 ... by 256 are 0, -255 ...: no run. The GPU's code loads runs, so it refuses to go on."""
    import devices

    devices.use("sim", monkeypatch)
    memory = torch.arange(4096, dtype=torch.float32)
    with pytest.raises(triton.TritonError, match="negative multiple"):
        wrapped_kernel[(1,)](memory[2048:], torch.zeros(512), shift, n, B=512)
