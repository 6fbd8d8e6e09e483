# RUN: tegula compile %s::marked --target sm_90a --num-warps 8 --emit ptx --signature 'x=*bf16:16,out=*bf16:16,label=*i64,n=i64:16,B=4096' | FileCheck %s --check-prefix=FOUND
# RUN: tegula compile %s::marked --target sm_90a --num-warps 8 --emit ptx --signature 'x=*bf16:16,out=*bf16:16,label=*i64,n=i32:16,B=4096' | FileCheck %s --check-prefix=FOUND
# RUN: tegula compile %s::marked --target sm_90a --num-warps 8 --emit ptx --signature 'x=*bf16:16,out=*bf16:16,label=*i32,n=i32:16,B=4096' | FileCheck %s --check-prefix=FOUND
# A row's columns that are compared with one number, as losses do it: one difference a trip is compared with the places of a
# thread's elements, which are constants. Nothing is held around the loop for them.
import tegula.language as tl
from tegula import jit


# FOUND: ld.global.v4
# FOUND: setp.{{eq|ne}}.b32 %p{{[0-9]+}}, [[DIFFERENCE:%r[0-9]+]], 0;
# FOUND-DAG: setp.{{eq|ne}}.b32 %p{{[0-9]+}}, [[DIFFERENCE]], 7;
# FOUND-DAG: setp.{{eq|ne}}.b32 %p{{[0-9]+}}, [[DIFFERENCE]], 2055;
# FOUND-NOT: setp.{{eq|ne}}.b64
# FOUND: st.global.v4
@jit
def marked(x, out, label, n, B: tl.constexpr):
    target = tl.load(label)
    for start in tl.range(0, n, B):
        column = start + tl.arange(0, B)
        value = tl.load(x + column, column < n, other=0.0)
        tl.store(out + column, tl.where(column == target, 1 - value, -value), column < n)
