"""A product that is only read transposed is computed transposed, so that its columns' maxima take no shared memory and the next product
reads it from the registers that it lies in; where something else wants it as it is, it stays."""
# RUN: tegula explain %s::scores --signature 'k=*f16:16,q=*f16:16,v=*f16:16,out=*f32:16,KIND=0' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::scores --signature 'k=*f16:16,q=*f16:16,v=*f16:16,out=*f32:16,KIND=0' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TURNED
# RUN: tegula compile %s::scores --signature 'k=*f16:16,q=*f16:16,v=*f16:16,out=*f32:16,KIND=0' --target sm_80 --emit simt -o - | FileCheck %s --check-prefix=TURNED
# RUN: tegula compile %s::scores --signature 'k=*f16:16,q=*f16:16,v=*f16:16,out=*f32:16,KIND=1' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::scores --signature 'k=*f16:16,q=*f16:16,v=*f16:16,out=*f32:16,KIND=2' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::scores --signature 'k=*f32:16,q=*f32:16,v=*f32:16,out=*f32:16,KIND=0' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
import triton
import triton.language as tl


# SAID: it is computed transposed, its factors exchanged
# TURNED: scf.for
# TURNED: tt.reduce {{.*}} axis 1
# TURNED-NOT: simt.convert
# TURNED-NOT: tt.trans
# TURNED: scf.yield
# AS-IS: scf.for
# AS-IS: tt.reduce {{.*}} axis 0
# AS-IS: tt.trans
# AS-IS: scf.yield
@triton.jit
def scores(k, q, v, out, KIND: tl.constexpr):
    m, n, d = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    qT = tl.load(q + m[None, :] * 64 + d[:, None])
    total = tl.zeros([64, 64], tl.float32)
    for start in range(0, 512, 64):
        at = (start + n)[:, None] * 64 + d[None, :]
        s = tl.dot(tl.load(k + at), qT)
        p = tl.exp2(s - tl.max(s, axis=0)[None, :])
        if KIND == 1:  # its sums along the other axis would do, its elements would not
            tl.store(out + at + 4096, p)
        p = p.to(k.dtype.element_ty)
        if KIND == 2:  # both ways
            total += tl.dot(p, tl.load(v + at))
        total = tl.dot(tl.trans(p), tl.load(v + at), total)
    tl.store(out + m[:, None] * 64 + d[None, :], total)
