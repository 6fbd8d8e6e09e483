"""Prints, checks and inline assembly: what they keep of their arguments."""
# RUN: %ir prints 'p=*f32,n=u32'
# RUN: %ir unchecked 'p=*f32,n=i32'
# RUN: %ir inline_asm 'p=*f32'
# RUN: %refused text_inside 'p=*f32'
# RUN: %refused text_between 'p=*f32'
# RUN: %refused prefix 'p=*f32'
# RUN: %refused no_condition 'p=*f32'
# RUN: %refused too_few 'p=*f32'
# RUN: %refused packed 'p=*f32'
# RUN: %refused pack 'p=*f32'
# RUN: %refused no_dtype 'p=*f32'
# RUN: %refused no_tile 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def prints(p, n):
    x = tl.load(p + tl.arange(0, 4))
    # prints: tt.print " x: " {isSigned = array<i32: 0, 0>} : %{{.*}}, %{{.*}} : tensor<4xf32>, i32
    tl.device_print("x", x, n)
    # prints: tt.print " bits: " hex {isSigned = array<i32: 1>} : %{{.*}} : i32
    tl.device_print("bits: ", n.to(tl.int32), hex=True)
    # prints: tt.print " here" {isSigned = array<i32>}{{$}}
    tl.device_print("here")
    # prints: tt.print " n: " {isSigned = array<i32: 0>}
    print("n", n)
    # A space behind the text becomes the colon's, as upstream writes it.
    # prints: tt.print " n: " {isSigned = array<i32: 0>}
    print("n ", n)
    # prints: tt.print " n: " {isSigned = array<i32: 0>}
    print("n:", n)
    # prints: tt.print " n : " {isSigned = array<i32: 0>}
    print("n  ", n)
    # prints: tt.print " a b\0A: " {isSigned = array<i32: 0>}
    print("a b\n", n)
    # prints: tt.print "n" {isSigned = array<i32>}
    print("n")
    # prints: tt.print ": " {isSigned = array<i32: 0>} : %{{.*}} : !tt.ptr<f32>
    print(p)


@triton.jit
def unchecked(p, n):
    # Without debug there is no check.
    # unchecked-NOT: tt.assert
    tl.device_assert(n > 0, "positive", mask=n < 5)
    assert n < 5, "small"
    tl.store(p, 0.0)


@triton.jit
def inline_asm(p):
    o = tl.arange(0, 8)
    x = tl.load(p + o)
    # inline_asm: tt.elementwise_inline_asm "add.f32 $0, $1, $2;" {constraints = "=f,f,f", packedElement = 1 : i32, pure = true} %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
    y = tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=f,f,f", [x, 1.0], dtype=tl.float32, is_pure=True, pack=1)
    # Four bytes share a register; several results come as a tuple.
    # inline_asm: tt.elementwise_inline_asm {{.*}}packedElement = 4 : i32, pure = false} %{{.*}} : tensor<8xi8> -> tensor<8xi8>, tensor<8xi32>
    a, b = tl.inline_asm_elementwise("text", "=r,=r,=r,=r,=r,r,~{memory}", [o.to(tl.int8)], dtype=(tl.int8, tl.int32),
                                     is_pure=False, pack=4)
    tl.static_assert(a.dtype == tl.int8 and b.dtype == tl.int32)
    tl.store(p + o, y)


@triton.jit
def text_inside(p):
    # text_inside: `tl.device_print` prints run-time values and numbers, not 'y' [NotPrintable]
    # text_inside: hint: put texts into the prefix
    tl.device_print("x", "y")


@triton.jit
def text_between(p):
    # text_between: `print` prints run-time values and numbers, not 'y' [NotPrintable]
    print("x", p, "y")


@triton.jit
def prefix(p):
    # prefix: parameter `prefix` of `tl.device_print` must be printable ASCII
    tl.device_print("x\x01", p)


@triton.jit
def no_condition(p):
    # no_condition: parameter `cond` of `tl.device_assert` must be a condition, not pointer<fp32> [BuiltinWrongArgument]
    tl.device_assert(p)


@triton.jit
def too_few(p):
    # too_few: `tl.inline_asm_elementwise`: the constraints '=r' name 1 outputs and 0 inputs, and dtypes, arguments and pack ask for 1 and 1 [InlineAsmConstraints]
    # too_few: hint:
    tl.inline_asm_elementwise("", "=r", [tl.arange(0, 4)], dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def packed(p):
    # packed: name 1 outputs and 1 inputs, and dtypes, arguments and pack ask for 1 and 2 [InlineAsmConstraints]
    tl.inline_asm_elementwise("", "=r,r", [tl.arange(0, 4)], dtype=tl.float16, is_pure=True, pack=2)


@triton.jit
def pack(p):
    # pack: parameter `pack` of `tl.inline_asm_elementwise` must be from 1 to 64, not 0 [BuiltinWrongArgument]
    tl.inline_asm_elementwise("", "=r,r", [tl.arange(0, 4)], dtype=tl.int32, is_pure=True, pack=0)


@triton.jit
def no_dtype(p):
    # no_dtype: parameter `dtype` of `tl.inline_asm_elementwise` must be a dtype, or a tuple of dtypes, not 32 [BuiltinWrongArgument]
    tl.inline_asm_elementwise("", "=r,r", [tl.arange(0, 4)], dtype=32, is_pure=True, pack=1)


@triton.jit
def no_tile(p):
    # no_tile: parameter `args` of `tl.inline_asm_elementwise` must be a tuple of tiles, not 'x' [BuiltinWrongArgument]
    tl.inline_asm_elementwise("", "=r,r", "x", dtype=tl.int32, is_pure=True, pack=1)
