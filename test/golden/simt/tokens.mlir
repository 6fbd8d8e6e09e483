// Asynchronous copies keep to their discipline along every path (ir/simt/VerifyTokens.h); one case a rule.
// RUN: tegula-opt %s -split-input-file -verify-diagnostics -verify-tokens

// Two slots, one trip ahead: nothing to say.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 2>
  %v0 = simt.view %b[%zero] : <128xf32, #s, 2> -> <128xf32, #s, 1>
  %t0 = simt.async_copy %a, %v0 : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g0 = simt.async_commit %t0
  %e:3 = scf.for %k = %zero to %n step %one iter_args(%fill = %one, %read = %zero, %g = %g0) -> (i32, i32, !simt.token) : i32 {
    simt.async_wait %g pending 0
    %vf = simt.view %b[%fill] : <128xf32, #s, 2> -> <128xf32, #s, 1>
    %t = simt.async_copy %a, %vf : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
    %h = simt.async_commit %t
    %vr = simt.view %b[%read] : <128xf32, #s, 2> -> <128xf32, #s, 1>
    %r = simt.local_load %vr : <128xf32, #s, 1> -> tensor<128xf32, #l>
    scf.yield %read, %fill, %h : i32, i32, !simt.token
  }
  %rest = simt.async_commit
  simt.async_wait %rest pending 0
  tt.return
}
// -----
// A copy in one branch, its wait behind both.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  scf.if %c {
    %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
    %h = simt.async_commit %t
  }
  %g = simt.async_commit
  simt.async_wait %g pending 0
  %r = simt.local_load %b : <128xf32, #s, 1> -> tensor<128xf32, #l>
  tt.return
}
// -----
// Nobody commits the copy.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  // expected-error @+1 {{has a token that does not go to one commit}}
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit
  simt.async_wait %g pending 0
  tt.return
}
// -----
// Two commits take it.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  // expected-error @+1 {{has a token that does not go to one commit}}
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  %h = simt.async_commit %t
  simt.async_wait %h pending 0
  tt.return
}
// -----
// A commit makes a group of all copies since the last one, whatever it names.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 2>
  %v = simt.view %b[%zero] : <128xf32, #s, 2> -> <128xf32, #s, 1>
  %w = simt.view %b[%one] : <128xf32, #s, 2> -> <128xf32, #s, 1>
  %t = simt.async_copy %a, %v : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %u = simt.async_copy %a, %w : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  // expected-error @+1 {{takes 1 copies, and other ones were started}}
  %g = simt.async_commit %u
  %h = simt.async_commit %t
  simt.async_wait %h pending 0
  tt.return
}
// -----
// What a commit takes is a copy's.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  // expected-error @+1 {{takes a token that is no copy's}}
  %h = simt.async_commit %g
  simt.async_wait %h pending 0
  tt.return
}
// -----
// No wait for the group.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  // expected-error @+1 {{is under way at the end of the kernel}}
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  tt.return
}
// -----
// The wait is on one path alone.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  // expected-error @+1 {{is under way at the end of the kernel}}
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  scf.if %c {
    simt.async_wait %g pending 0
  }
  tt.return
}
// -----
// A wait for a copy that no commit made a group of.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  // expected-error @+1 {{waits for what is no group}}
  simt.async_wait %t pending 0
  tt.return
}
// -----
// The group may be among those that the wait leaves.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  // expected-error @+1 {{leaves 1 groups under way, and its own with them}}
  simt.async_wait %g pending 1
  %r = simt.local_load %b : <128xf32, #s, 1> -> tensor<128xf32, #l>
  tt.return
}
// -----
// Read without a wait.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  // expected-error @+1 {{reads one of 1 slots while 1 groups of copies into them may be under way}}
  %r = simt.local_load %b : <128xf32, #s, 1> -> tensor<128xf32, #l>
  simt.async_wait %g pending 0
  tt.return
}
// -----
// Read without a wait, of a buffer with room.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 3>
  %v = simt.view %b[%one] : <128xf32, #s, 3> -> <128xf32, #s, 1>
  %t = simt.async_copy %a, %v : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  %w = simt.view %b[%one] : <128xf32, #s, 3> -> <128xf32, #s, 1>
  // expected-error @+1 {{reads a slot that a copy is writing}}
  %r = simt.local_load %w : <128xf32, #s, 1> -> tensor<128xf32, #l>
  simt.async_wait %g pending 0
  tt.return
}
// -----
// Written while a copy into it is under way.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 1>
  %x = simt.local_load %b : <128xf32, #s, 1> -> tensor<128xf32, #l>
  %t = simt.async_copy %a, %b : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  // expected-error @+1 {{writes one of 1 slots while 1 groups}}
  simt.local_store %x, %b : tensor<128xf32, #l>, <128xf32, #s, 1>
  simt.async_wait %g pending 0
  tt.return
}
// -----
// Two copies into one slot.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 2>
  %v = simt.view %b[%zero] : <128xf32, #s, 2> -> <128xf32, #s, 1>
  %t = simt.async_copy %a, %v : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g = simt.async_commit %t
  // expected-error @+1 {{copies into a slot that a copy is writing}}
  %u = simt.async_copy %a, %v : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %h = simt.async_commit %u
  simt.async_wait %h pending 0
  tt.return
}
// -----
// A loop without its wait: each trip leaves one more group under way.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 2>
  %v0 = simt.view %b[%zero] : <128xf32, #s, 2> -> <128xf32, #s, 1>
  %t0 = simt.async_copy %a, %v0 : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g0 = simt.async_commit %t0
  %e:3 = scf.for %k = %zero to %n step %one iter_args(%fill = %one, %read = %zero, %g = %g0) -> (i32, i32, !simt.token) : i32 {
    %vf = simt.view %b[%fill] : <128xf32, #s, 2> -> <128xf32, #s, 1>
    %t = simt.async_copy %a, %vf : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
    %h = simt.async_commit %t
    %vr = simt.view %b[%read] : <128xf32, #s, 2> -> <128xf32, #s, 1>
    // expected-error @+1 {{reads one of 2 slots while 2 groups}}
    %r = simt.local_load %vr : <128xf32, #s, 1> -> tensor<128xf32, #l>
    scf.yield %read, %fill, %h : i32, i32, !simt.token
  }
  %rest = simt.async_commit
  simt.async_wait %rest pending 0
  tt.return
}
// -----
// A loop that waits for one group too few.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 2>
  %v0 = simt.view %b[%zero] : <128xf32, #s, 2> -> <128xf32, #s, 1>
  %t0 = simt.async_copy %a, %v0 : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g0 = simt.async_commit %t0
  %e:3 = scf.for %k = %zero to %n step %one iter_args(%fill = %one, %read = %zero, %g = %g0) -> (i32, i32, !simt.token) : i32 {
    // expected-error @+1 {{leaves 1 groups under way, and its own with them}}
    simt.async_wait %g pending 1
    %vf = simt.view %b[%fill] : <128xf32, #s, 2> -> <128xf32, #s, 1>
    %t = simt.async_copy %a, %vf : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
    %h = simt.async_commit %t
    %vr = simt.view %b[%read] : <128xf32, #s, 2> -> <128xf32, #s, 1>
    %r = simt.local_load %vr : <128xf32, #s, 1> -> tensor<128xf32, #l>
    scf.yield %read, %fill, %h : i32, i32, !simt.token
  }
  %rest = simt.async_commit
  simt.async_wait %rest pending 0
  tt.return
}
// -----
// A loop that carries the tokens of two groups, the younger one first.
#l = #simt.layout<"[128] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32),(64)]">
#s = #simt.shared<[1, 2, 4, 8, 16, 32, 64]>
tt.func @k(%p: !tt.ptr<f32>, %n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
  %b = simt.alloc : <128xf32, #s, 3>
  %v0 = simt.view %b[%zero] : <128xf32, #s, 3> -> <128xf32, #s, 1>
  %t0 = simt.async_copy %a, %v0 : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g0 = simt.async_commit %t0
  %v1 = simt.view %b[%one] : <128xf32, #s, 3> -> <128xf32, #s, 1>
  %t1 = simt.async_copy %a, %v1 : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
  %g1 = simt.async_commit %t1
  %two = arith.constant 2 : i32
  %e:4 = scf.for %k = %zero to %n step %one iter_args(%fill = %two, %read = %zero, %x = %g1, %y = %g0) -> (i32, i32, !simt.token, !simt.token) : i32 {
    // expected-error @+1 {{leaves 1 groups under way, and its own with them: 0 may be younger}}
    simt.async_wait %x pending 1
    %vf = simt.view %b[%fill] : <128xf32, #s, 3> -> <128xf32, #s, 1>
    %t = simt.async_copy %a, %vf : tensor<128x!tt.ptr<f32>, #l>, <128xf32, #s, 1>
    %h = simt.async_commit %t
    %vr = simt.view %b[%read] : <128xf32, #s, 3> -> <128xf32, #s, 1>
    %r = simt.local_load %vr : <128xf32, #s, 1> -> tensor<128xf32, #l>
    scf.yield %read, %fill, %y, %h : i32, i32, !simt.token, !simt.token
  }
  %rest = simt.async_commit
  simt.async_wait %rest pending 0
  tt.return
}
