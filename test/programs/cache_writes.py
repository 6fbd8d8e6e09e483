"""Keys and values of new tokens into a paged cache by slot; a copy of a batch of ragged rows into a padded one."""
import torch
import triton
import triton.language as tl

from beside import normal, same


@triton.jit
def reshape_and_cache_kernel(key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_mapping_ptr, key_stride: tl.int64, value_stride: tl.int64,
                             block_stride: tl.int64, page_stride: tl.int64, num_heads: tl.constexpr, head_size: tl.constexpr,
                             block_size: tl.constexpr, TILE_SIZE: tl.constexpr):
    token_idx = tl.program_id(axis=0)
    slot_idx = tl.load(slot_mapping_ptr + token_idx).to(tl.int64)
    if slot_idx < 0:
        # Padding token that should be ignored.
        return
    tile_i = tl.program_id(axis=1)
    tile_offs = tl.arange(0, TILE_SIZE)
    tile_pos = tile_i * TILE_SIZE + tile_offs
    block_idx = slot_idx // block_size
    block_offset = slot_idx % block_size
    src_key_idx = token_idx * key_stride
    src_value_idx = token_idx * value_stride
    tgt_idx = block_idx * block_stride + block_offset * page_stride
    key_tile = tl.load(key_ptr + src_key_idx + tile_pos, mask=tile_pos < (num_heads * head_size))
    value_tile = tl.load(value_ptr + src_value_idx + tile_pos, mask=tile_pos < (num_heads * head_size))
    tl.store(key_cache_ptr + tgt_idx + tile_pos, key_tile, mask=tile_pos < (num_heads * head_size))
    tl.store(value_cache_ptr + tgt_idx + tile_pos, value_tile, mask=tile_pos < (num_heads * head_size))


@triton.jit
def jagged_to_padded_kernel(values_ptr, offsets_ptr, out_ptr, max_len, D, padding_value, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    begin = tl.load(offsets_ptr + b)
    end = tl.load(offsets_ptr + (b + 1))
    length = tl.minimum(end - begin, max_len)
    d = tl.arange(0, BLOCK_D)
    out_ptr += b * max_len * D
    for t0 in range(0, max_len, BLOCK_T):
        t = t0 + tl.arange(0, BLOCK_T)
        x = tl.load(values_ptr + (begin + t)[:, None] * D + d[None, :], mask=((t < length)[:, None]) & ((d < D)[None, :]), other=padding_value)
        tl.store(out_ptr + t[:, None] * D + d[None, :], x, mask=((t < max_len)[:, None]) & ((d < D)[None, :]))


def check_slots(device):
    key, value = normal(5, 3, 10, device=device, dtype=torch.bfloat16), normal(5, 3, 10, device=device, dtype=torch.bfloat16, seed=1)
    slots = torch.tensor([7, -1, 0, 11, 2], device=device)
    caches = [torch.zeros(4, 4, 3, 10, dtype=torch.bfloat16, device=device) for _ in range(2)]
    reshape_and_cache_kernel[(5, 2)](key, value, *caches, slots, key.stride(0), value.stride(0), caches[0].stride(0), caches[0].stride(1), 3, 10, 4,
                                     TILE_SIZE=16)
    for cache, new in zip(caches, (key, value)):
        expected = torch.zeros(16, 3, 10, dtype=torch.float64)
        kept = slots.cpu() >= 0
        expected[slots.cpu()[kept]] = new.cpu().double()[kept]
        same(cache.reshape(16, 3, 10), expected)


def check_jagged(device):
    offsets = torch.tensor([0, 3, 3, 12], device=device)
    values = normal(12, 5, device=device)
    out = torch.empty(3, 7, 5, device=device)
    jagged_to_padded_kernel[(3,)](values, offsets, out, 7, 5, -1.5, BLOCK_T=4, BLOCK_D=8)
    expected = torch.full((3, 7, 5), -1.5)
    expected[0, :3], expected[2] = values.cpu()[:3], values.cpu()[3:10]
    same(out, expected)
