"""Stream-K: a first kernel shares the iterations of some tiles among all programs, a second one does whole tiles."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit()
def swizzle_tile(tile_id, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    grid_m = tl.cdiv(M, BLOCK_M)
    grid_n = tl.cdiv(N, BLOCK_N)
    # re-order program ID for better L2 performance
    width = GROUP_M * grid_n
    group_id = tile_id // width
    group_size = tl.minimum(grid_m - group_id * GROUP_M, GROUP_M)
    pid_m = group_id * GROUP_M + (tile_id % group_size)
    pid_n = (tile_id % width) // group_size
    return pid_m, pid_n


@triton.jit()
def mac_loop(A, B, C, M, N, K, locks, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, iters_per_tile,
             start_iter, end_iter, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACC_TYPE: tl.constexpr,
             GROUP_M: tl.constexpr):
    tile_id = start_iter // iters_per_tile
    pid_m, pid_n = swizzle_tile(tile_id, M, N, BLOCK_M, BLOCK_N, GROUP_M)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak) + BLOCK_K * stride_ak * (start_iter % iters_per_tile)
    B = B + (rk[:, None] * stride_bk + rn[None, :] * stride_bn) + BLOCK_K * stride_bk * (start_iter % iters_per_tile)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC_TYPE)
    for current_iter in range(start_iter, end_iter):
        k_remaining = K - (current_iter % iters_per_tile) * BLOCK_K
        a = tl.load(A, mask=(rk[None, :] < k_remaining) & (rm[:, None] < M), other=0.)
        b = tl.load(B, mask=(rk[:, None] < k_remaining) & (rn[None, :] < N), other=0.)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk

    if start_iter % iters_per_tile == 0:  # the program that begins a tile stores; it has the lowest number of all that share it
        C_ = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
        tl.store(C_, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])
        if end_iter % iters_per_tile != 0:  # somebody waits
            tl.debug_barrier()
            tl.atomic_xchg(locks + tile_id, 1)
    else:
        while tl.atomic_cas(locks + tile_id, 1, 1) != 1:
            pass
        C_ = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
        tl.atomic_add(C_, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit()
def first_wave(A, B, C, M, N, K, locks, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
               full_tiles, partial_tiles, iters_per_tile, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
               ACC_TYPE: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    start_iter = pid * full_tiles + tl.minimum(pid, partial_tiles)
    last_iter = (pid + 1) * full_tiles + tl.minimum(pid + 1, partial_tiles)
    while start_iter < last_iter:
        end_iter = tl.minimum(start_iter + (iters_per_tile - start_iter % iters_per_tile), last_iter)
        mac_loop(A, B, C, M, N, K, locks, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, iters_per_tile,
                 start_iter, end_iter, BLOCK_M, BLOCK_N, BLOCK_K, ACC_TYPE, GROUP_M)
        start_iter = end_iter


@triton.jit()
def full_tiles(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, total_tiles_streamk,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACC_TYPE: tl.constexpr, GROUP_M: tl.constexpr):
    tile_id = tl.program_id(0) + total_tiles_streamk
    pid_m, pid_n = swizzle_tile(tile_id, M, N, BLOCK_M, BLOCK_N, GROUP_M)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC_TYPE)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A, mask=(rk[None, :] < k) & (rm[:, None] < M), other=0.)
        b = tl.load(B, mask=(rk[:, None] < k) & (rn[None, :] < N), other=0.)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    tl.store(C, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def matmul(a, b, programs=3, BLK_M=32, BLK_N=32, BLK_K=32):
    M, K = a.shape
    _, N = b.shape
    total_tiles = triton.cdiv(M, BLK_M) * triton.cdiv(N, BLK_N)
    iters_per_tile = triton.cdiv(K, BLK_K)
    total_tiles_streamk = total_tiles % programs
    if total_tiles - total_tiles_streamk > programs:
        total_tiles_streamk += programs
    total_blocking_tiles = total_tiles - total_tiles_streamk
    total_iters_streamk = total_tiles_streamk * iters_per_tile
    c = torch.zeros((M, N), device=a.device, dtype=torch.float32)
    locks = torch.zeros((max(1, total_tiles_streamk),), device=a.device, dtype=torch.int32)
    shared = dict(BLOCK_M=BLK_M, BLOCK_N=BLK_N, BLOCK_K=BLK_K, ACC_TYPE=tl.float32, GROUP_M=4, num_stages=2, num_warps=4)
    strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    first_wave[(programs,)](a, b, c, M, N, K, locks, *strides, total_iters_streamk // programs, total_iters_streamk % programs,
                            iters_per_tile, **shared)
    if total_blocking_tiles:
        full_tiles[(total_blocking_tiles,)](a, b, c, M, N, K, *strides, total_tiles_streamk, **shared)
    return c


def check_tiles_are_shared(device):
    for M, N, K in ((64, 64, 96), (100, 90, 80), (32, 32, 160), (130, 70, 70)):
        a, b = normal(M, K, device=device, dtype=torch.float16), normal(K, N, device=device, dtype=torch.float16, seed=1)
        close(matmul(a, b), wide(a) @ wide(b), error=1e-6)
