#fuzz target=ptxvm;args=pi;grid=1
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    i = tl.arange(0, 32)
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=Z,r", [i], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x_ptr + i, y.to(tl.float32))
