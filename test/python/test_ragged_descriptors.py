"""triton.tools.ragged_tma: tiles of parts of a tensor, which end where the part ends."""
import pytest

import tegula as triton
import tegula.language as tl
from tegula.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged

torch = pytest.importorskip("torch")


@triton.jit
def copy_part(source, target, source_row, target_row, rows, row, RAGGED: tl.constexpr, RANK: tl.constexpr):
    if RANK == 2:
        tile = load_ragged(source, source_row, rows, [row, 0])
        store_ragged(target, target_row, rows, [row, 0], tile)
    elif RAGGED == 0:
        tile = load_ragged(source, source_row, rows, [row, 0, 0], RAGGED)
        store_ragged(target, target_row, rows, [row, 0, 0], tile, RAGGED)
    else:
        tile = load_ragged(source, source_row, rows, [0, row, 0], RAGGED)
        store_ragged(target, target_row, rows, [0, row, 0], tile, RAGGED)


@pytest.fixture(params=["cpu", "ptxvm"])
def target(request):
    triton.set_target(request.param)
    yield request.param
    triton.set_target("cpu")


@pytest.mark.parametrize("write_only", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("shape, block, ragged", [((40, 16), (8, 16), 0), ((24, 4, 16), (8, 4, 16), 0), ((3, 40, 16), (4, 8, 16), 1)])
def test_a_part_ends_where_it_ends(target, shape, block, ragged, dtype, write_only):
    source = torch.arange(1, torch.Size(shape).numel() + 1, dtype=dtype).reshape(shape)
    result = torch.zeros(shape, dtype=dtype)
    into = create_ragged_descriptor(result, block, ragged, write_only)
    if target == "ptxvm" and write_only:
        pytest.skip("its memory holds what arguments point at, and this points elsewhere")
    rows, start, end = 11, 2, 7
    for row in (0, 8):
        copy_part[(1,)](create_ragged_descriptor(source, block, ragged - len(shape)), into, start, end, rows, row, ragged,
                        len(shape))
    expected = torch.zeros_like(result)
    expected.narrow(ragged, end, rows).copy_(source.narrow(ragged, start, rows))
    assert torch.equal(result, expected)


@triton.jit
def add_part(source, target, first, rows):
    atomic_add_ragged(target, first, rows, [0, 0], load_ragged(source, first, rows, [0, 0]))


def test_additions_end_where_the_part_ends(target):
    source, result = torch.ones(24, 16), torch.full((24, 16), 2.0)
    for _ in range(2):
        add_part[(1,)](create_ragged_descriptor(source, (8, 16)), create_ragged_descriptor(result, (8, 16)), 3, 5)
    assert (result[3:8] == 4).all() and (result[:3] == 2).all() and (result[8:] == 2).all()


@pytest.mark.parametrize("shape, block, ragged, reason", [
    ((8, 16), (8, 16), 1, "cannot be ragged"), ((8, 16), (8, 16, 1), 0, "the block has 3 dimensions"),
    ((2, 2, 8, 16), (1, 1, 8, 16), 0, "at most 3 dimensions")])
def test_what_can_be_no_ragged_descriptor(shape, block, ragged, reason):
    with pytest.raises(AssertionError, match=reason):
        create_ragged_descriptor(torch.zeros(shape), block, ragged)


def test_only_stored_through_has_no_way_to_load():
    x = torch.zeros(8, 16)
    with pytest.raises(triton.CompilationError, match="to load through"):
        copy_part[(1,)](create_ragged_descriptor(x, (8, 16), 0, True), create_ragged_descriptor(x, (8, 16)), 0, 0, 4, 0, 0, 2)
