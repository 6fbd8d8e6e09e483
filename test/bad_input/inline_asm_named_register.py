# error: InlineAsmConstraint 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "{r5}", [n], dtype=tl.int32, is_pure=True, pack=1)
