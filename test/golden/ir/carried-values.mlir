// Canonicalization of what loops and branches hand on.
// RUN: tegula-opt %s -canonicalize | FileCheck %s

// A value that stays the same leaves the loop, also where two carried values exchange it.
// CHECK-LABEL: tt.func @the_same_in_each_trip
tt.func @the_same_in_each_trip(%p: !tt.ptr<i32>, %n: i32, %x: i32) {
  // CHECK-NOT: iter_args
  // CHECK: tt.store %arg0, %arg2
  // CHECK: tt.store %arg0, %arg2
  // CHECK: tt.store %arg0, %arg2
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (i32, i32) : i32 {
    tt.store %p, %a : !tt.ptr<i32>, i32
    scf.yield %b, %a : i32, i32
  }
  tt.store %p, %r#0 : !tt.ptr<i32>, i32
  tt.store %p, %r#1 : !tt.ptr<i32>, i32
  tt.return
}

// Values that exchange their places and differ stay.
// CHECK-LABEL: tt.func @exchanged
tt.func @exchanged(%p: !tt.ptr<i32>, %n: i32, %x: i32, %y: i32) {
  // CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %arg2, %[[B:.*]] = %arg3)
  // CHECK: scf.yield %[[B]], %[[A]]
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (i32, i32) : i32 {
    scf.yield %b, %a : i32, i32
  }
  tt.store %p, %r#0 : !tt.ptr<i32>, i32
  tt.store %p, %r#1 : !tt.ptr<i32>, i32
  tt.return
}

// What a body makes is no value from outside, though only one comes out.
// CHECK-LABEL: tt.func @made_inside
tt.func @made_inside(%p: !tt.ptr<i32>, %n: i32, %x: i32) {
  // CHECK: %[[R:.*]] = scf.for
  // CHECK: tt.store %arg0, %[[R]]
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (i32) : i32 {
    %v = tt.load %p : !tt.ptr<i32> -> i32
    scf.yield %v : i32
  }
  tt.store %p, %r : !tt.ptr<i32>, i32
  tt.return
}

// Of carried values with one start and one step only one is left.
// CHECK-LABEL: tt.func @equal
tt.func @equal(%p: !tt.ptr<i32>, %n: i32, %x: i32) {
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %arg2) -> (i32)
  // CHECK: arith.addi %[[A]], %[[A]]
  // CHECK: scf.yield
  // CHECK: tt.store %arg0, %[[R]]
  // CHECK: tt.store %arg0, %[[R]]
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (i32, i32) : i32 {
    %s = arith.addi %a, %b : i32
    scf.yield %s, %s : i32, i32
  }
  tt.store %p, %r#0 : !tt.ptr<i32>, i32
  tt.store %p, %r#1 : !tt.ptr<i32>, i32
  tt.return
}

// A carried value goes if neither the loop nor what follows reads it; one that is only read behind the loop stays.
// CHECK-LABEL: tt.func @unused
tt.func @unused(%p: !tt.ptr<i32>, %n: i32, %x: i32, %y: i32) {
  // CHECK: %[[R:.*]] = scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}} = %arg3) -> (i32)
  // CHECK: scf.yield %[[I]] : i32
  // CHECK: tt.store %arg0, %[[R]]
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (i32, i32) : i32 {
    scf.yield %n, %i : i32, i32
  }
  tt.store %p, %r#1 : !tt.ptr<i32>, i32
  tt.return
}

// An inner loop that hands a value on unchanged does not hide it from the outer one.
// CHECK-LABEL: tt.func @nested
tt.func @nested(%p: !tt.ptr<i32>, %n: i32, %x: i32) {
  // CHECK-NOT: iter_args
  // CHECK: tt.store %arg0, %arg2
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (i32) : i32 {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (i32) : i32 {
      tt.store %p, %j : !tt.ptr<i32>, i32
      scf.yield %b : i32
    }
    scf.yield %s : i32
  }
  tt.store %p, %r : !tt.ptr<i32>, i32
  tt.return
}

// Both sides of a branch hand on the same value; two results are the same on either side; one has no use.
// CHECK-LABEL: tt.func @branch
tt.func @branch(%p: !tt.ptr<i32>, %c: i1, %x: i32, %y: i32) {
  // CHECK: %[[R:.*]] = scf.if %arg1 -> (i32)
  // CHECK: tt.store %arg0, %arg2
  // CHECK: tt.store %arg0, %[[R]]
  // CHECK: tt.store %arg0, %[[R]]
  %r:4 = scf.if %c -> (i32, i32, i32, i32) {
    %v = tt.load %p : !tt.ptr<i32> -> i32
    scf.yield %x, %v, %v, %x : i32, i32, i32, i32
  } else {
    scf.yield %x, %y, %y, %y : i32, i32, i32, i32
  }
  tt.store %p, %r#0 : !tt.ptr<i32>, i32
  tt.store %p, %r#1 : !tt.ptr<i32>, i32
  tt.store %p, %r#2 : !tt.ptr<i32>, i32
  tt.return
}

// The condition of a `while` hands one result of a branch on twice: both are that result, in the body as behind it.
// CHECK-LABEL: tt.func @condition_with_a_branch
tt.func @condition_with_a_branch(%p: !tt.ptr<i32>, %n: i32) {
  // CHECK: %[[R:.*]] = scf.while
  // CHECK: %[[V:.*]] = scf.if
  // CHECK: scf.condition(%{{.*}}) %[[V]] : i32
  // CHECK: ^bb0(%[[A:.*]]: i32):
  // CHECK: arith.addi %[[A]], %[[A]]
  // CHECK: tt.store %arg0, %[[R]]
  // CHECK: tt.store %arg0, %[[R]]
  %c0 = arith.constant 0 : i32
  %r:2 = scf.while (%i = %c0) : (i32) -> (i32, i32) {
    %go = arith.cmpi slt, %i, %n : i32
    %v = scf.if %go -> (i32) {
      %l = tt.load %p : !tt.ptr<i32> -> i32
      scf.yield %l : i32
    } else {
      scf.yield %i : i32
    }
    scf.condition(%go) %v, %v : i32, i32
  } do {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    scf.yield %s : i32
  }
  tt.store %p, %r#0 : !tt.ptr<i32>, i32
  tt.store %p, %r#1 : !tt.ptr<i32>, i32
  tt.return
}
