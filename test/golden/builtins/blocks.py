"""Block pointers and tensor descriptors: plain pointers, and masks for what is checked alone."""
# RUN: %ir carried 'p=*f16,q=*f16,n=i32,stride=i64'
# RUN: %ir unchecked 'p=*f32,q=*f32,n=i32'
# RUN: %ir described 'p=*f32,n=i32'
# RUN: %refused mixed 'p=*f32,n=i32'
import triton
import triton.language as tl


@triton.jit
def carried(p, q, n, stride):
    b = tl.make_block_ptr(p, (n, 64), (stride, 1), (0, 0), (16, 64), (1, 0))
    # A loop carries the pointer and what the mask needs; the offset is never negative.
    # carried: scf.for {{.*}} iter_args({{.*}}, %[[PTR:.*]] = %arg0, %[[ROW:.*]] = %{{.*}}) -> (tensor<16x64xf16>, !tt.ptr<f16>, i64)
    s = tl.zeros((16, 64), tl.float16)
    for _ in range(0, n, 16):
        # carried: tt.splat %[[PTR]]
        # carried: arith.subi %{{.*}}, %[[ROW]] : i64
        # carried: %[[MASK:.*]] = arith.cmpi slt, {{.*}} : tensor<16xi32>
        # carried-NOT: arith.cmpi
        # carried: tt.load %{{.*}} mask %{{.*}} : tensor<16x64x!tt.ptr<f16>> -> tensor<16x64xf16>, mask tensor<16x64xi1>
        s += tl.load(b, boundary_check=(0,))
        b = tl.advance(b, (16, 0))
    tl.store(tl.make_block_ptr(q, (16, 64), (64, 1), (0, 0), (16, 64), (1, 0)), s)


@triton.jit
def unchecked(p, q, n):
    b = tl.make_block_ptr(p, (n,), (1,), (n,), (64,), (0,))
    # unchecked-NOT: arith.cmpi
    # unchecked: tt.load %{{.*}} : tensor<64x!tt.ptr<f32>> -> tensor<64xf32>{{$}}
    # unchecked: tt.store %{{[^,]*}}, %{{[^,]*}} : tensor<64x!tt.ptr<f32>>, tensor<64xf32>{{$}}
    tl.store(tl.make_block_ptr(q, (n,), (1,), (n,), (64,), (0,)), tl.load(b))


@triton.jit
def described(p, n):
    d = tl.make_tensor_descriptor(p, [n], [1], [64], padding_option="nan")
    # described: %[[NAN:.*]] = arith.constant dense<0x7FC00000> : tensor<64xf32>
    # described: tt.load %{{.*}} mask %{{.*}} other %[[NAN]]
    # described: tt.atomic_rmw fadd, {{.*}} mask
    d.atomic_add([0], d.load([64]))


@triton.jit
def mixed(p, n):
    b = tl.make_block_ptr(p, (n,), (1,), (0,), (64,), (0,))
    if n > 0:
        # mixed: [[@LINE-1]]:5: error: {{.*}}pointer<<['64'], fp32>>{{.*}}tensor_descriptor<<['64'], fp32>>
        b = tl.make_tensor_descriptor(p, [n], [1], [64])
    tl.load(b)
