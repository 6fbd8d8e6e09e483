"""Loops of attention whose groups of warps come apart copy keys and values in boxes; rows that no box fits are copied element by element, in a loop
that takes neither registers nor instructions of the code around it."""
import re

import pytest
import torch

import machine_code
import tegula as triton
import tegula.language as tl


@triton.jit
def attention_kernel(q, k, v, out, length, row, first, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Keys begin `first` rows behind their pointer, rows of keys and values `row` elements behind each other; the last block may end within."""
    row = tl.multiple_of(row, 4)  # 8 bytes, where boxes want 16
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    sums, total, best = tl.zeros([BM, D], tl.float32), tl.zeros([BM], tl.float32), tl.full([BM], -1e6, tl.float32)
    for start in range(0, length, BN):
        inside = start + n < length
        keys = tl.load(k + (first + start + n)[None, :] * row + d[:, None], mask=inside[None, :], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(x, keys), -1e6)
        now = tl.maximum(best, tl.max(scores, 1))
        weights, shrink = tl.exp2(scores - now[:, None]), tl.exp2(best - now)
        total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v + (first + start + n)[:, None] * row + d[None, :], mask=inside[:, None], other=0.0)
        sums = tl.dot(weights.to(tl.float16), values, sums * shrink[:, None])
        best = now
    tl.store(out + m[:, None] * D + d[None, :], sums / total[:, None])


@pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)
@pytest.mark.parametrize("length, first", [(5, 0), (64, 3), (130, 0), (257, 1)])
@pytest.mark.parametrize("apart", [0, 4, 8, 20], ids="{} more a row".format)
@pytest.mark.parametrize("head, bn, stages", [(128, 64, 3), (64, 128, 2)])
def test_rows_at_any_distance(target, monkeypatch, head, bn, stages, apart, length, first):
    monkeypatch.setenv("TEGULA_SIM_ARCH", "sm_90a")
    generator = torch.Generator().manual_seed(length + apart)
    row = head + apart

    def whole(*shape):
        return torch.randint(-2, 3, shape, generator=generator).half()

    # Elements between rows and around them are read by no one.
    q, k, v = whole(256, head) / 8, whole(first + length + 1, row), whole(first + length + 1, row)
    for other in (k, v):
        other[:first] = other[first + length:] = other[:, head:] = float("nan")
    out = torch.full((256, head), float("nan"))
    kernel = attention_kernel[(2,)](q, k, v, out, length, row, first, D=head, BM=128, BN=bn, num_warps=8, num_stages=stages)
    keys, values = (other[first:first + length, :head].double() for other in (k, v))
    weights = torch.softmax(q.double() @ keys.T * torch.log(torch.tensor(2.0, dtype=torch.float64)), 1)
    torch.testing.assert_close(out.double(), weights @ values, rtol=0, atol=4e-3)
    if ".target sm_90a" in kernel.asm["ptx"]:
        assert "cp.async.bulk.tensor" in kernel.asm["ptx"]


def test_no_register_is_spilled_for_copies_that_hardly_ever_happen(build_dir):
    """One copy stands in the text for each tile ahead of the loop and for each in it, and does not become a row of copies."""
    text = machine_code.of_kernel(build_dir, f"{__file__}::attention_kernel",
                                  "q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,length=i32,row=i32,first=i32,D=128,BM=128,BN=128", "--num-warps", 8, "--num-stages", 2)
    code, _ = machine_code.instructions(text)
    count = {name: sum(bool(re.match(rf"(@!?U?P\w+ )?{name}\b", each)) for each in code) for name in ("LDGSTS", "UTMALDG", "STL", "LDL")}
    assert count["UTMALDG"] >= 8 and count["LDGSTS"] <= count["UTMALDG"] and count["STL"] == count["LDL"] == 0, count
