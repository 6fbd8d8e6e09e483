"""Programs that are wrong, and refused with a part of upstream's words or by its class of errors."""
import pytest
import torch
import triton
import triton.language as tl

from meaning import IS_INTERPRETED, IS_UPSTREAM

pytestmark = pytest.mark.skipif(IS_UPSTREAM and IS_INTERPRETED, reason="upstream's interpreter does not check")


def refused(kernel, device, *args, match, **options):
    out = torch.zeros(64, dtype=torch.int32, device=device)
    with pytest.raises(Exception) as caught:
        kernel[(1,)](out, *args, **options)
    texts, error = [], caught.value
    while error is not None:
        texts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    text = "\n".join(texts)
    assert match in text, text


@triton.jit
def undefined_kernel(out):
    tl.store(out, nowhere)  # noqa: F821


def test_names_that_are_not_defined(device):
    refused(undefined_kernel, device, match="nowhere")


@triton.jit
def float_floor_kernel(out):
    tl.store(out, (1.5 * tl.program_id(0)) // 2.0)


def test_floor_division_of_floats(device):
    refused(float_floor_kernel, device, match="unexpected type")


@triton.jit
def two_pointers_kernel(out):
    tl.store(out + out, 1)


def test_sums_of_pointers(device):
    refused(two_pointers_kernel, device, match="cannot add pointers together")


@triton.jit
def shapes_kernel(out):
    x = tl.arange(0, 8) + tl.arange(0, 16)
    tl.store(out + tl.arange(0, 8), x)


def test_shapes_that_do_not_spread(device):
    refused(shapes_kernel, device, match="incompatible dimensions")


@triton.jit
def stores_block_to_scalar_kernel(out):
    tl.store(out, tl.arange(0, 8))


def test_a_tile_into_one_place(device):
    refused(stores_block_to_scalar_kernel, device, match="")


@triton.jit
def unstable_kernel(out, n):
    x = 0
    for i in range(n):
        x = x + 0.5
    tl.store(out, x)


@pytest.mark.compiled
def test_carried_names_keep_their_type(device):
    refused(unstable_kernel, device, 5, match="Loop-carried variable x")


@triton.jit
def branch_types_kernel(out, n):
    if n > 2:
        x = tl.zeros((4,), tl.int32)
    else:
        x = tl.zeros((4,), tl.float32)
    tl.store(out + tl.arange(0, 4), x)


@pytest.mark.compiled
def test_branches_agree_on_types(device):
    refused(branch_types_kernel, device, 5, match="Mismatched type for x between then block")


@triton.jit
def one_branch_kernel(out, n):
    if n > 2:
        y = 1
    tl.store(out, y)


@pytest.mark.compiled
def test_names_of_one_branch_are_not_defined_after_it(device):
    refused(one_branch_kernel, device, 5, match="y")


@triton.jit
def other_kernel(out):
    tl.store(out, tl.load(out, other=1))


def test_other_without_a_mask(device):
    refused(other_kernel, device, match="other")


@triton.jit
def big_scalar_kernel(out, x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    tl.store(out + tl.arange(0, 8), x + 1000)


def test_numbers_outside_of_the_type(device):
    refused(big_scalar_kernel, device, torch.zeros(8, dtype=torch.int8, device=device), match="out of range")


@triton.jit
def signs_kernel(out, x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    tl.store(out + tl.arange(0, 8), x // tl.arange(0, 8))


def test_division_of_mixed_signs(device):
    refused(signs_kernel, device, torch.zeros(8, dtype=torch.uint32, device=device), match="signedness")


@triton.jit
def assert_kernel(out, N: tl.constexpr):
    tl.static_assert(N == 8, "N must be eight")


def test_static_assert(device):
    refused(assert_kernel, device, N=4, match="N must be eight")


@triton.jit
def constexpr_again_kernel(out):
    x: tl.constexpr = 1
    x: tl.constexpr = 2
    tl.store(out, x)


@pytest.mark.compiled
def test_constants_are_assigned_once(device):
    refused(constexpr_again_kernel, device, match="constexpr")


plain_global = 5


@triton.jit
def global_kernel(out):
    tl.store(out, plain_global)


@pytest.mark.compiled
def test_plain_globals(device):
    refused(global_kernel, device, match="plain_global")


@triton.jit
def dot_shapes_kernel(out):
    a = tl.zeros((16, 16), tl.float16)
    b = tl.zeros((32, 16), tl.float16)
    tl.store(out, tl.sum(tl.dot(a, b)).to(tl.int32))


def test_products_whose_sides_differ(device):
    refused(dot_shapes_kernel, device, match="16")


@triton.jit
def fine_kernel(out, n, N: tl.constexpr):
    tl.store(out, n + N)


def test_launches(device):
    refused(fine_kernel, device, 1, match="N")
    refused(fine_kernel, device, 1, N=2, no_such_option=3, match="no_such_option")
    refused(fine_kernel, device, 1, 2, 3, match="")


@triton.jit
def bitwise_kernel(out):
    x = tl.zeros((8,), tl.float32)
    tl.store(out + tl.arange(0, 8), (x & 1).to(tl.int32))


def test_bits_of_floats(device):
    refused(bitwise_kernel, device, match="invalid operands of type")


@triton.jit
def const_store_kernel(out, x_ptr: tl.const):
    tl.store(x_ptr, 1)


def test_stores_through_constant_pointers(device):
    refused(const_store_kernel, device, torch.zeros(1, device=device), match="Cannot store to a constant pointer")


@triton.jit
def ambiguous_kernel(out):
    if tl.arange(0, 8) > 3:
        tl.store(out, 1)


def test_tiles_as_conditions(device):
    refused(ambiguous_kernel, device, match="ambiguous")


@triton.jit
def not_power_kernel(out):
    x = tl.load(out + tl.program_id(0))
    tl.store(out, x.no_such_method())


def test_attributes_that_do_not_exist(device):
    refused(not_power_kernel, device, match="no_such_method")
