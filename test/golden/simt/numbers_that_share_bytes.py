"""Bytes that hold two numbers, words that hold eight: lanes lie along the neighbours that share them, not along rows whose distance is unknown."""
# RUN: tegula compile %s::pages --signature 'x=*u8:16,table=*i32:16,y=*f32:16,stride=i32:16' --num-warps 1 --target sm_90a --emit simt | FileCheck %s --check-prefix=PAGES
# RUN: tegula compile %s::shared --signature 'x=*u8:16,y=*f32:16,stride=i32:16,SHARE=2,ALONG=0' --target sm_90a --emit simt | FileCheck %s --check-prefix=BYTES
# RUN: tegula compile %s::shared --signature 'x=*i32:16,y=*f32:16,stride=i32:16,SHARE=8,ALONG=0' --target sm_90a --emit simt | FileCheck %s --check-prefix=WORDS
# RUN: tegula compile %s::shared --signature 'x=*u8:16,y=*f32:16,stride=i32:16,SHARE=2,ALONG=1' --target sm_90a --emit simt | FileCheck %s --check-prefix=COLUMNS
# RUN: tegula compile %s::shared --signature 'x=*u8:16,y=*f32:16,stride=i32:16,SHARE=3,ALONG=0' --target sm_90a --emit simt | FileCheck %s --check-prefix=THIRDS
import triton
import triton.language as tl


# A thread has the four or eight numbers of its bytes, and the next lane the next ones.
# BYTES: simt.layout<"coalesced<order=0,1 vector=4 {{.*}} register=[(1,0),(2,0),{{.*}} lane=[(4,0),(8,0)
# WORDS: simt.layout<"coalesced<order=0,1 vector=16 {{.*}} register=[(1,0),(2,0),(4,0),(8,0),{{.*}} lane=[(16,0),(32,0)
# COLUMNS: simt.layout<"coalesced<order=1,0 vector=4 {{.*}} register=[(0,1),(0,2),{{.*}} lane=[(0,4),(0,8)
# THIRDS: simt.layout<"coalesced<order=0,1
@triton.jit
def shared(x, y, stride, SHARE: tl.constexpr, ALONG: tl.constexpr):
    i, j = tl.arange(0, 64), tl.arange(0, 64)
    if ALONG == 0:
        packed = tl.load(x + i[:, None] // SHARE + j[None, :] * stride)
        places = i[:, None] % SHARE
    else:
        packed = tl.load(x + j[:, None] * stride + i[None, :] // SHARE)
        places = i[None, :] % SHARE
    numbers = (packed >> places * (8 // SHARE)) & 3
    tl.store(y + tl.arange(0, 64), tl.sum(numbers.to(tl.float32), 1))


# The rows are pages of a table: whatever these are, neighbours along a row share its bytes.
# PAGES: simt.layout<"coalesced<order=1,0 vector=4 {{.*}} register=[(0,1),(0,2),{{.*}} lane=[(0,4),(0,8)
@triton.jit
def pages(x, table, y, stride):
    i, j = tl.arange(0, 4), tl.arange(0, 128)
    rows = tl.load(table + i).to(tl.int64) * stride
    packed = tl.load(x + rows[:, None] + j[None, :] // 2)
    numbers = (packed >> j[None, :] % 2 * 4) & 15
    tl.store(y + i, tl.sum(numbers.to(tl.float32), 1))
