"""Products and attention as people write them (bench/gpu/spelled.py), on every target, against float64.

Sizes are no multiples of the blocks, outputs are poisoned, and stages and warps go through all that people ask for.
"""
import functools
import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from contract import assert_close, assert_same

BENCH = Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(BENCH))

import spelled
import spelling_cases

BLOCKS = [(16, 16, 16), (32, 32, 16), (16, 32, 32), (64, 32, 32)]
STAGES, WARPS = (1, 2, 3, 4), (4, 1, 8, 2)


@functools.cache
def module_of(source):
    spec = importlib.util.spec_from_file_location(source, BENCH / "spellings" / f"{source}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def poisoned(spelling, s, kind):
    """A result in which nothing is right yet, of the shape and layout that the reference has."""
    shape = spelling.expected(s).shape
    dtype = spelled.DTYPES[spelling.result or kind]
    value = float("nan") if dtype.is_floating_point else -7
    alike = next((s[name] for name in "qv" if name in s and s[name].shape == shape), None)
    return torch.full(shape, value, dtype=dtype) if alike is None else torch.full_like(alike, value)


def check(name, kind, size, config):
    spelling = spelled.ALL[name]
    s = spelling.make(torch.Generator().manual_seed(1), spelled.DTYPES[kind], **size)
    out = spelling.call(module_of(spelling.source), s, poisoned(spelling, s, kind), config)
    if out.dtype == torch.int32:
        assert_same(out, spelling.expected(s).to(torch.int32))
    else:
        assert_close(out, spelling.expected(s), error=spelling.bound(s))


def product_size(name, m, n, k):
    return dict(m=min(m, 5) if "few rows" in name else m, n=n, k=k)


def product_config(blocks, warps, stages, kind):
    m, n, k = blocks
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=max(k, 32) if kind in ("i8", "f8") else k, num_warps=warps, num_stages=stages)


def attention_size(name, length, causal, head=16):
    size = dict(batch=2, heads=2, length=length, head=head, causal=causal)
    special = {"shared heads": dict(heads=4, group=2), "window": dict(window=20), "decoding, paged": dict(heads=8),
               "padded head": dict(head=20), "native head": dict(head=20)}
    return {**size, **special.get(name.removeprefix("attention, "), {})}


PRODUCTS = [f"matmul, {spelling.name}" for spelling in spelled.MATMULS]
ATTENTIONS = [f"attention, {spelling.name}" for spelling in spelled.ATTENTIONS]


@pytest.mark.parametrize("name", PRODUCTS)
def test_product(target, name):
    index, kinds = PRODUCTS.index(name), spelled.ALL[name].kinds
    kind = kinds[index % len(kinds)]
    config = product_config(BLOCKS[index % 4], WARPS[index // 4 % 4], STAGES[index * 3 % 4], kind)
    check(name, kind, product_size(name, 71, 45, 83), config)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(target, name, causal):
    index, kinds = ATTENTIONS.index(name) + causal, spelled.ALL[name].kinds
    config = dict(BLOCK_M=32, BLOCK_N=(16, 32)[index % 2], num_warps=WARPS[index % 4], num_stages=STAGES[index // 2 % 4])
    check(name, kinds[index % len(kinds)], attention_size(name, 41, causal), config)


ON_DEVICES = pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim),
                                                pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)


@ON_DEVICES
@pytest.mark.parametrize("warps", sorted(WARPS))
@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("name", ["matmul, wrapped nn", "matmul, masked nt"])
def test_product_for_stages_and_warps(target, name, stages, warps):
    check(name, "f16", product_size(name, 40, 50, 90), product_config((32, 32, 16), warps, stages, "f16"))


@ON_DEVICES
@pytest.mark.parametrize("warps", sorted(WARPS))
@pytest.mark.parametrize("stages", STAGES)
def test_attention_for_stages_and_warps(target, stages, warps):
    check("attention, two loops", "bf16", attention_size("", 75, True),
          dict(BLOCK_M=32, BLOCK_N=16, num_warps=warps, num_stages=stages))


# Two loops over blocks of K and V one behind the other, the second of which goes on in the buffers of the first: also where one of
# them has no trip, where boxes do not fit (rows of 8 more), and with fewer trips than are under way.
@ON_DEVICES
@pytest.mark.parametrize("length", [64, 128, 192, 320, 512])
@pytest.mark.parametrize("head, blocks, warps, stages", [(128, (128, 128), 8, 2), (128, (128, 64), 8, 3), (128, (64, 64), 4, 3),
                                                         (64, (128, 64), 8, 3), (64, (128, 128), 8, 2), (64, (64, 64), 4, 3)])
def test_a_loop_goes_on_in_the_buffers_of_the_one_before(target, head, blocks, warps, stages, length):
    for name in ("attention, two loops", "attention, one loop, exp"):
        check(name, "f16", dict(batch=1, heads=1, length=length, head=head, causal=True),
              dict(BLOCK_M=blocks[0], BLOCK_N=blocks[1], num_warps=warps, num_stages=stages))


SHAPES = [(1, 1, 1), (16, 16, 16), (17, 33, 100), (64, 8, 15), (32, 32, 16), (3, 70, 64)]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_product_of_any_size(target, shape, kind):
    m, n, k = shape
    check("matmul, wrapped nn", kind, dict(m=m, n=n, k=k), product_config((32, 16, 16), 4, 3, kind))


@pytest.mark.parametrize("head", [32, 64])
@pytest.mark.parametrize("length", [1, 16, 33, 64])
def test_attention_of_any_length(target, length, head):
    check("attention, k transposed as a tile", "f16", attention_size("", length, True, head),
          dict(BLOCK_M=16, BLOCK_N=32, num_warps=4, num_stages=2))


def test_every_spelling_is_measured():
    measured = {case.spelling for case in spelling_cases.cases()}
    assert measured == set(spelled.ALL)
    for case in spelling_cases.cases():
        assert case.kind in spelled.ALL[case.spelling].kinds and case.configs
