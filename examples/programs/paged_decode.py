"""Decoding over a paged cache: each program takes a part of the pages of a sequence; a second kernel joins the parts."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def _fwd_kernel_stage1(Q, K_Buffer, V_Buffer, sm_scale, Block_Tables, B_Seqlen, Att_Out, stride_bt, stride_qbs, stride_qh,
                       stride_kp, stride_ks, stride_kh, stride_ob, stride_oh, stride_os, kv_group_num: tl.constexpr,
                       q_head_num: tl.constexpr, BLOCK_DMODEL: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_H: tl.constexpr,
                       PAGE_SIZE: tl.constexpr, NUM_KV_SPLITS: tl.constexpr, logit_cap: tl.constexpr, Lk: tl.constexpr):
    cur_batch = tl.program_id(0)
    cur_kv_head = tl.program_id(1)
    split_kv_id = tl.program_id(2)

    cur_head = cur_kv_head * kv_group_num + tl.arange(0, BLOCK_H)
    mask_h = tl.arange(0, BLOCK_H) < kv_group_num
    mask_h = mask_h & (cur_head < q_head_num)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    mask_d = offs_d < Lk
    cur_batch_seq_len = tl.load(B_Seqlen + cur_batch)
    offs_q = cur_batch * stride_qbs + cur_head[:, None] * stride_qh + offs_d[None, :]
    q = tl.load(Q + offs_q, mask=(mask_h[:, None]) & (mask_d[None, :]), other=0.0)

    kv_len_per_split = tl.cdiv(cur_batch_seq_len, NUM_KV_SPLITS)
    split_kv_start = kv_len_per_split * split_kv_id
    split_kv_end = tl.minimum(split_kv_start + kv_len_per_split, cur_batch_seq_len)

    e_max = tl.zeros([BLOCK_H], dtype=tl.float32) - float("inf")
    e_sum = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, BLOCK_DMODEL], dtype=tl.float32)

    if split_kv_end > split_kv_start:
        for start_n in range(split_kv_start, split_kv_end, BLOCK_N):
            offs_n = start_n + tl.arange(0, BLOCK_N)
            kv_page_number = tl.load(Block_Tables + stride_bt * cur_batch + offs_n // PAGE_SIZE, mask=offs_n < split_kv_end, other=0)
            kv_loc = kv_page_number.to(tl.int64) * stride_kp + (offs_n % PAGE_SIZE) * stride_ks
            offs_buf_k = kv_loc[None, :] + cur_kv_head * stride_kh + offs_d[:, None]
            k = tl.load(K_Buffer + offs_buf_k, mask=(offs_n[None, :] < split_kv_end) & (mask_d[:, None]), other=0.0)
            qk = tl.dot(q, k.to(q.dtype))
            qk *= sm_scale
            if logit_cap > 0:
                qk = logit_cap * (2 * tl.sigmoid(2 * qk / logit_cap) - 1)
            qk = tl.where(mask_h[:, None] & (offs_n[None, :] < split_kv_end), qk, float("-inf"))

            offs_buf_v = kv_loc[:, None] + cur_kv_head * stride_kh + offs_d[None, :]
            v = tl.load(V_Buffer + offs_buf_v, mask=(offs_n[:, None] < split_kv_end) & (mask_d[None, :]), other=0.0)

            n_e_max = tl.maximum(tl.max(qk, 1), e_max)
            re_scale = tl.exp(e_max - n_e_max)
            p = tl.exp(qk - n_e_max[:, None])
            acc *= re_scale[:, None]
            acc += tl.dot(p.to(v.dtype), v)
            e_sum = e_sum * re_scale + tl.sum(p, 1)
            e_max = n_e_max

        offs_mid_o = cur_batch * stride_ob + cur_head[:, None] * stride_oh + split_kv_id * stride_os + offs_d[None, :]
        tl.store(Att_Out + offs_mid_o, acc / e_sum[:, None], mask=(mask_h[:, None]) & (mask_d[None, :]))
        offs_mid_o_1 = cur_batch * stride_ob + cur_head * stride_oh + split_kv_id * stride_os + Lk
        tl.store(Att_Out + offs_mid_o_1, e_max + tl.log(e_sum), mask=mask_h)


@triton.jit
def _fwd_kernel_stage2(Mid_O, o, B_Seqlen, stride_mid_ob, stride_mid_oh, stride_mid_os, stride_obs, stride_oh,
                       NUM_KV_SPLITS: tl.constexpr, BLOCK_DV: tl.constexpr, Lv: tl.constexpr):
    cur_batch = tl.program_id(0)
    cur_head = tl.program_id(1)
    cur_batch_seq_len = tl.load(B_Seqlen + cur_batch)
    offs_d = tl.arange(0, BLOCK_DV)
    mask_d = offs_d < Lv
    e_sum = 0.0
    e_max = -float("inf")
    acc = tl.zeros([BLOCK_DV], dtype=tl.float32)
    offs_v = cur_batch * stride_mid_ob + cur_head * stride_mid_oh + offs_d
    offs_logic = cur_batch * stride_mid_ob + cur_head * stride_mid_oh + Lv
    for split_kv_id in range(0, NUM_KV_SPLITS):
        kv_len_per_split = tl.cdiv(cur_batch_seq_len, NUM_KV_SPLITS)
        split_kv_start = kv_len_per_split * split_kv_id
        split_kv_end = tl.minimum(split_kv_start + kv_len_per_split, cur_batch_seq_len)
        if split_kv_end > split_kv_start:
            tv = tl.load(Mid_O + offs_v + split_kv_id * stride_mid_os, mask=mask_d, other=0.0)
            tlogic = tl.load(Mid_O + offs_logic + split_kv_id * stride_mid_os)
            n_e_max = tl.maximum(tlogic, e_max)
            old_scale = tl.exp(e_max - n_e_max)
            acc *= old_scale
            exp_logic = tl.exp(tlogic - n_e_max)
            acc += exp_logic * tv
            e_sum = e_sum * old_scale + exp_logic
            e_max = n_e_max
    tl.store(o + cur_batch * stride_obs + cur_head * stride_oh + offs_d, acc / e_sum, mask=mask_d)


def decode_attention(q, k_buffer, v_buffer, block_table, seqlens, scale, num_kv_splits=3, logit_cap=0.0):
    batch, head_num, Lk = q.shape
    page_size, kv_heads = k_buffer.shape[1:3]
    o = torch.empty_like(q)
    mid = torch.empty((batch, head_num, num_kv_splits, Lk + 1), dtype=torch.float32, device=q.device)
    kv_group_num = head_num // kv_heads
    _fwd_kernel_stage1[(batch, kv_heads, num_kv_splits)](q, k_buffer, v_buffer, scale, block_table, seqlens, mid,
                                                         block_table.stride(0), q.stride(0), q.stride(1), k_buffer.stride(0),
                                                         k_buffer.stride(1), k_buffer.stride(2), mid.stride(0), mid.stride(1),
                                                         mid.stride(2), kv_group_num=kv_group_num, q_head_num=head_num,
                                                         BLOCK_DMODEL=triton.next_power_of_2(Lk), BLOCK_N=16, BLOCK_H=16,
                                                         PAGE_SIZE=page_size, NUM_KV_SPLITS=num_kv_splits, logit_cap=logit_cap,
                                                         num_warps=4, num_stages=2, Lk=Lk)
    _fwd_kernel_stage2[(batch, head_num)](mid, o, seqlens, mid.stride(0), mid.stride(1), mid.stride(2), o.stride(0), o.stride(1),
                                          NUM_KV_SPLITS=num_kv_splits, BLOCK_DV=triton.next_power_of_2(Lk), Lv=Lk, num_warps=4)
    return o


def check_lengths(device):
    lengths, page, kv_heads, heads, d = [1, 40, 23], 8, 2, 6, 24
    pages = normal(20, page, kv_heads, d, device=device, dtype=torch.float16)
    values = normal(20, page, kv_heads, d, device=device, dtype=torch.float16, seed=1)
    table = torch.randperm(20, generator=torch.Generator().manual_seed(2))[:15].reshape(3, 5).to(torch.int32)
    q = normal(3, heads, d, device=device, dtype=torch.float16, seed=3)
    for cap in (0.0, 15.0):
        o = decode_attention(q, pages, values, table.to(device), torch.tensor(lengths, dtype=torch.int32, device=device), d**-0.5, logit_cap=cap)
        expected = torch.empty(3, heads, d, dtype=torch.float64)
        for b, length in enumerate(lengths):
            k, v = (wide(t)[table[b].long()].reshape(-1, kv_heads, d)[:length].repeat_interleave(heads // kv_heads, 1) for t in (pages, values))
            s = torch.einsum("hd,nhd->hn", wide(q[b]), k) * d**-0.5
            s = cap * torch.tanh(s / cap) if cap else s
            expected[b] = torch.einsum("hn,nhd->hd", torch.softmax(s, -1), v)
        close(o, expected, error=2e-3)
