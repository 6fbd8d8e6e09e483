"""The warps of a product lie along the factor that a trip computes, so that none computes what another one does, and the factor goes from the
copy into registers. Of two factors that are loaded each warp reads about as much of one as of the other."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,s=*f16:16,c=*f32:16,K=i32:16,IS_SCALED=True' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=SCALED
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,s=*f16:16,c=*f32:16,K=i32:16,IS_SCALED=False' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=LOADED
import triton
import triton.language as tl


# SCALED: #[[RESULT:layout[0-9]*]] = #simt.layout<"{{.*}}[32x64] {{.*}} warp=[(0,8),(0,16)]
# SCALED: scf.for
# SCALED-NOT: simt.local_store
# SCALED: tt.dot {{.*}}, tensor<32x64xf32, #[[RESULT]]>
# LOADED: #[[RESULT:layout[0-9]*]] = #simt.layout<"{{.*}}[32x64] {{.*}} warp=[{{(\(0,8\),\(16,0\)|\(16,0\),\(0,8\))}}]
# LOADED: tt.dot {{.*}}, tensor<32x64xf32, #[[RESULT]]>
@triton.jit
def product(a, b, s, c, K, IS_SCALED: tl.constexpr):
    m, n, k = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([32, 64], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc += tl.dot(x, y * tl.load(s + start + k)[:, None] if IS_SCALED else y)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)
