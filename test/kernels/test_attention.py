import pytest
import torch

from contract import FLOATS, ULP, assert_close, name_of, random, rounding_of_factors
from kernels.attention import attention

LENGTHS = [(1, 1), (15, 15), (16, 16), (17, 33), (37, 37), (48, 20)]


def reference(q, k, v, causal, scale):
    scores = (q @ k.transpose(1, 2)) * scale
    if causal:
        seen = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    return torch.softmax(scores, dim=2) @ v


def check(q, k, v, causal, **blocks):
    out = attention(q, k, v, torch.full(q.shape, 9, dtype=q.dtype), causal=causal, **blocks)
    qd, kd, vd = q.double(), k.double(), v.double()
    scale = q.shape[2] ** -0.5
    expected = reference(qd, kd, vd, causal, scale)
    # scores are off by N15, which moves each weight by as much relatively; p is rounded to the inputs' type
    rounding = rounding_of_factors(q.dtype)
    scores_error = (2.0**-23 * (q.shape[2] + 8) + rounding) * (qd.abs() @ kd.abs().transpose(1, 2)).amax() * scale
    weights_error = 2 * scores_error + 2.0**-23 * (k.shape[1] + 32) + (ULP[q.dtype] if q.dtype != torch.float32 else rounding)
    assert_close(out, expected, error=weights_error * vd.abs().amax())


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda l: f"{l[0]}x{l[1]}")
def test_equals_softmax_of_scores(target, lengths, dtype, causal):
    heads, head = 2, 16
    q = random(heads, lengths[0], head, dtype=dtype, seed=1)
    k = random(heads, lengths[1], head, dtype=dtype, seed=2)
    v = random(heads, lengths[1], head, dtype=dtype, seed=3)
    check(q, k, v, causal, block_q=16, block_k=16)


@pytest.mark.parametrize("head", [8, 20, 80])
def test_heads_of_any_size(target, head):
    q, k, v = (random(1, 21, head, seed=seed) for seed in (4, 5, 6))
    check(q, k, v, True, block_q=16, block_k=8)


def test_against_torch_attention(target):
    q, k, v = (random(2, 50, 32, seed=seed) for seed in (7, 8, 9))
    out = attention(q, k, v, torch.zeros_like(q), causal=True)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    rounding = rounding_of_factors(q.dtype)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5 + 8 * rounding)
