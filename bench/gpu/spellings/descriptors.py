"""Products and attention through tensor descriptors, which programs make (`tl.make_tensor_descriptor`) or hosts hand over.

Matrices have rows of 16 bytes each, as descriptors want them. A function takes what those of matmul_plain.py and
attention_plain.py take.
"""
import importlib

import torch

import tegula as triton
import tegula.language as tl


def described(tensor, block):
    """The descriptor that a host makes, of the package that this file was loaded for."""
    return importlib.import_module(f"{triton.__name__}.tools.tensor_descriptor").TensorDescriptor.from_tensor(tensor, block)


def lend_memory(device):
    """Upstream writes the descriptors of programs to memory that the caller allocates."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))


def tiles(m, n, config):
    return triton.cdiv(m, config["BLOCK_M"]) * triton.cdiv(n, config["BLOCK_N"])


def result_of(a, b, out):
    """Whose rows begin at multiples of 16 bytes, as those of the factors."""
    (rows, columns), per = (a.shape[0], b.shape[1]), 16 // a.element_size()
    if out is not None and out.stride(0) % per == 0:
        return out
    return torch.empty((rows, -(-columns // per) * per), device=a.device, dtype=a.dtype)[:, :columns]


@triton.jit
def place_of(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """The row and column at which a tile of the result begins."""
    across = tl.cdiv(N, BLOCK_N)
    group = tile // (GROUP_M * across)
    rows = min(tl.cdiv(M, BLOCK_M) - group * GROUP_M, GROUP_M)
    inside = tile % (GROUP_M * across)
    return (group * GROUP_M + inside % rows) * BLOCK_M, inside // rows * BLOCK_N


# --- made by the program; the second factor lies by columns ------------------------------------------


@triton.jit
def made_kernel(a_ptr, bt_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(bt_ptr, [N, K], [stride_b, 1], [BLOCK_N, BLOCK_K])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    row, column = place_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = a_desc.load([row, k * BLOCK_K])
        b = b_desc.load([column, k * BLOCK_K])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([row, column], acc.to(c_desc.dtype))


def made(a, b, out=None, **config):
    c, bt = result_of(a, b, out), b.T
    lend_memory(a.device)
    made_kernel[(tiles(*c.shape, config),)](a, bt, c, *c.shape, a.shape[1], a.stride(0), bt.stride(0), c.stride(0), GROUP_M=8,
                                            **config)
    return c


# --- handed over by the host; both factors by rows -----------------------------------------------------


@triton.jit
def given_kernel(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                 GROUP_M: tl.constexpr):
    row, column = place_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, column]), acc)
    c_desc.store([row, column], acc.to(c_desc.dtype))


def given(a, b, out=None, **config):
    c, m, n, k = result_of(a, b, out), *(config[f"BLOCK_{name}"] for name in "MNK")
    given_kernel[(tiles(*c.shape, config),)](described(a, [m, k]), described(b, [k, n]), described(c, [m, n]), *c.shape,
                                             a.shape[1], GROUP_M=8, **config)
    return c


# --- a program for each multiprocessor, which goes over many tiles -----------------------------------------


@triton.jit
def persistent_kernel(a_ptr, bt_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c, BLOCK_M: tl.constexpr,
                      BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, PROGRAMS: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[stride_a, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(bt_ptr, shape=[N, K], strides=[stride_b, 1], block_shape=[BLOCK_N, BLOCK_K])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[stride_c, 1], block_shape=[BLOCK_M, BLOCK_N])
    trips = tl.cdiv(K, BLOCK_K)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N), PROGRAMS, flatten=True):
        row, column = place_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for trip in range(trips):
            a = a_desc.load([row, trip * BLOCK_K])
            b = b_desc.load([column, trip * BLOCK_K])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([row, column], acc.to(c_desc.dtype))


def persistent(a, b, out=None, programs=None, **config):
    c, bt = result_of(a, b, out), b.T
    lend_memory(a.device)
    programs = programs or torch.cuda.get_device_properties(a.device).multi_processor_count
    persistent_kernel[(min(programs, tiles(*c.shape, config)),)](
        a, bt, c, *c.shape, a.shape[1], a.stride(0), bt.stride(0), c.stride(0), GROUP_M=8, PROGRAMS=programs, **config)
    return c


# --- attention: all heads are one matrix; blocks up to the diagonal, and those on it or at the end, are two loops ----


@triton.jit
def blocks(acc, total, best, q, k_desc, v_desc, head, first, last, row, scale, N_CTX, D: tl.constexpr, BLOCK_M: tl.constexpr,
           BLOCK_N: tl.constexpr, IS_LAST: tl.constexpr, CAUSAL: tl.constexpr, EVEN: tl.constexpr):
    for start in tl.range(first, last, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        k = k_desc.load([head + start, 0])
        scores = tl.dot(q, k.T) * scale
        if IS_LAST:
            columns = start + tl.arange(0, BLOCK_N)
            if CAUSAL:
                scores = tl.where((row + tl.arange(0, BLOCK_M))[:, None] >= columns[None, :], scores, -1.0e6)
            if not EVEN:
                scores = tl.where(columns[None, :] < N_CTX, scores, -1.0e6)
        above = tl.maximum(best, tl.max(scores, 1))
        p = tl.math.exp2(scores - above[:, None])
        alpha = tl.math.exp2(best - above)
        acc = acc * alpha[:, None]
        v = v_desc.load([head + start, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        total = total * alpha + tl.sum(p, 1)
        best = above
    return acc, total, best


@triton.jit
def attend(q_desc, k_desc, v_desc, o_ptr, head, row, scale, N_CTX, D: tl.constexpr, BLOCK_M: tl.constexpr,
           BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, EVEN: tl.constexpr):
    best = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    q = q_desc.load([head + row, 0])
    middle = row if CAUSAL else N_CTX // BLOCK_N * BLOCK_N
    end = tl.minimum(row + BLOCK_M, N_CTX) if CAUSAL else N_CTX
    acc, total, best = blocks(acc, total, best, q, k_desc, v_desc, head, 0, middle, row, scale, N_CTX, D, BLOCK_M, BLOCK_N, False,
                              CAUSAL, EVEN)
    if CAUSAL or not EVEN:
        acc, total, best = blocks(acc, total, best, q, k_desc, v_desc, head, middle, end, row, scale, N_CTX, D, BLOCK_M, BLOCK_N,
                                  True, CAUSAL, EVEN)
    rows = row + tl.arange(0, BLOCK_M)
    o_ptrs = o_ptr + (head + rows).to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(o_ptrs, (acc / total[:, None]).to(o_ptr.dtype.element_ty), mask=rows[:, None] < N_CTX)


@triton.jit
def given_heads_kernel(q_desc, k_desc, v_desc, o_ptr, scale, N_CTX, D: tl.constexpr, BLOCK_M: tl.constexpr,
                       BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, EVEN: tl.constexpr):
    attend(q_desc, k_desc, v_desc, o_ptr, tl.program_id(1) * N_CTX, tl.program_id(0) * BLOCK_M, scale * 1.44269504, N_CTX, D,
           BLOCK_M, BLOCK_N, CAUSAL, EVEN)


@triton.jit
def made_heads_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, HEADS, N_CTX, D: tl.constexpr, BLOCK_M: tl.constexpr,
                      BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, EVEN: tl.constexpr):
    rows = HEADS * N_CTX
    q_desc = tl.make_tensor_descriptor(q_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BLOCK_N, D])
    attend(q_desc, k_desc, v_desc, o_ptr, tl.program_id(1) * N_CTX, tl.program_id(0) * BLOCK_M, scale * 1.44269504, N_CTX, D,
           BLOCK_M, BLOCK_N, CAUSAL, EVEN)


def attended(kernel, make, q, k, v, out, causal, scale, config):
    """Contiguous; blocks of rows are multiples of those of columns."""
    o = torch.empty_like(q) if out is None else out
    (batch, heads, length, head), m, n = q.shape, config["BLOCK_M"], config["BLOCK_N"]
    grid = (triton.cdiv(length, m), batch * heads)
    kernel[grid](*make(batch * heads * length, head, q, k, v), o, head**-0.5 if scale is None else scale,
                 *((batch * heads,) if kernel is made_heads_kernel else ()), length, D=head, CAUSAL=causal, EVEN=length % m == 0,
                 **config)
    return o


def given_heads(q, k, v, out=None, causal=False, scale=None, **config):
    def make(rows, head, *tensors):
        sizes = (config["BLOCK_M"], config["BLOCK_N"], config["BLOCK_N"])
        return [described(tensor.view(rows, head), [size, head]) for tensor, size in zip(tensors, sizes)]
    return attended(given_heads_kernel, make, q, k, v, out, causal, scale, config)


def made_heads(q, k, v, out=None, causal=False, scale=None, **config):
    lend_memory(q.device)
    return attended(made_heads_kernel, lambda rows, head, *tensors: tensors, q, k, v, out, causal, scale, config)
