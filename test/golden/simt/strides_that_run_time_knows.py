"""Of two strides that only run time knows the one that a launch knows to be a multiple of less is the inner one: lanes lie along it."""
# RUN: tegula compile %s::weights --signature 'w=*f32:16,out=*f32:16,outer=i32:16,inner=i32' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix ROWS
# RUN: tegula compile %s::weights --signature 'w=*f32:16,out=*f32:16,outer=i32,inner=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix COLUMNS
# RUN: tegula compile %s::weights --signature 'w=*f32:16,out=*f32:16,outer=i32,inner=i32' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix COLUMNS
import triton
import triton.language as tl


# Of a filter [outputs, inputs, 3, 3]: inputs are 9 elements apart, outputs 9 times as many as there are inputs.
# ROWS: coalesced<order=0,1 vector=1
# COLUMNS: coalesced<order=1,0 vector=1
@triton.jit
def weights(w, out, outer, inner):
    i, o = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    tl.store(out + tl.arange(0, 32), tl.sum(tl.load(w + i * inner + o * outer), 1))
