# RUN: tegula compile %s::show --target sm_90a --emit llvm --signature 'x=*i8,BLOCK=200' | FileCheck %s --check-prefix=SHOW
# RUN: tegula compile %s::check --target sm_80 --emit ptx --debug --signature 'x=*f32:16,n=i32,BLOCK=256' | FileCheck %s --check-prefix=CHECK
# RUN: tegula compile %s::check --target sm_80 --emit ptx --signature 'x=*f32:16,n=i32,BLOCK=256' | FileCheck %s --check-prefix=NOTHING
# Each element is one line with its place; a check is one branch, and there only in debug mode.
import tegula.language as tl
from tegula import jit


@jit
def show(x, BLOCK: tl.constexpr):
    tl.device_print("100% of", tl.load(x + tl.arange(0, BLOCK)))


# SHOW: c"pid (%u, %u, %u) idx (%3u) 100%% of: %d\0A\00"
# SHOW: call i32 @vprintf


@jit
def check(x, n, BLOCK: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, BLOCK)) > 0, "must be positive")
    tl.device_assert(n > 0)


# A warp in which a lane fails ends: the vote of all lanes is the branch, and nothing goes on behind the calls.
# CHECK: .extern .func __assertfail
# CHECK: ld.global.v2.b32
# CHECK: vote.sync.any.pred
# CHECK-COUNT-2: call.uni{{.*}} __assertfail
# CHECK-NOT: setp
# CHECK: ret;
# NOTHING-NOT: __assertfail
