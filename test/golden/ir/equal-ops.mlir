// RUN: tegula-opt %s -cse | FileCheck %s

// CHECK-LABEL: tt.func @equal_reads_become_one
tt.func @equal_reads_become_one(%p: !tt.ptr<f32>) {
  // CHECK: %[[X:.*]] = tt.load %arg0
  // CHECK-NOT: tt.load
  // CHECK: arith.addf %[[X]], %[[X]]
  %x = tt.load %p : !tt.ptr<f32> -> f32
  %y = tt.load %p : !tt.ptr<f32> -> f32
  %s = arith.addf %x, %y : f32
  tt.store %p, %s : !tt.ptr<f32>, f32
  tt.return
}

// CHECK-LABEL: tt.func @reads_behind_a_write_stay
tt.func @reads_behind_a_write_stay(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
  // CHECK: %[[X:.*]] = tt.load %arg0
  // CHECK: tt.store %arg1, %[[X]]
  // CHECK: %[[Y:.*]] = tt.load %arg0
  // CHECK: tt.store %arg1, %[[Y]]
  %x = tt.load %p : !tt.ptr<f32> -> f32
  tt.store %q, %x : !tt.ptr<f32>, f32
  %y = tt.load %p : !tt.ptr<f32> -> f32
  tt.store %q, %y : !tt.ptr<f32>, f32
  tt.return
}

// CHECK-LABEL: tt.func @reads_behind_a_branch_that_writes_stay
tt.func @reads_behind_a_branch_that_writes_stay(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1) {
  // CHECK: tt.load %arg0
  // CHECK: scf.if
  // CHECK: %[[Y:.*]] = tt.load %arg0
  // CHECK: tt.store %arg1, %[[Y]]
  %x = tt.load %p : !tt.ptr<f32> -> f32
  scf.if %c {
    tt.store %q, %x : !tt.ptr<f32>, f32
  }
  %y = tt.load %p : !tt.ptr<f32> -> f32
  tt.store %q, %y : !tt.ptr<f32>, f32
  tt.return
}

// CHECK-LABEL: tt.func @branches_use_what_was_computed_around_them
tt.func @branches_use_what_was_computed_around_them(%p: !tt.ptr<i32>, %a: i32, %c: i1) {
  // CHECK: %[[S:.*]] = arith.addi %arg1, %arg1
  // CHECK-NOT: arith.addi
  // CHECK: scf.if
  // CHECK: tt.store %arg0, %[[S]]
  // CHECK: tt.store %arg0, %[[S]]
  %s = arith.addi %a, %a : i32
  scf.if %c {
    %t = arith.addi %a, %a : i32
    tt.store %p, %t : !tt.ptr<i32>, i32
  }
  tt.store %p, %s : !tt.ptr<i32>, i32
  tt.return
}

// CHECK-LABEL: tt.func @one_branch_does_not_see_the_other
tt.func @one_branch_does_not_see_the_other(%p: !tt.ptr<i32>, %a: i32, %c: i1) {
  // CHECK: arith.addi
  // CHECK: else
  // CHECK: arith.addi
  scf.if %c {
    %s = arith.addi %a, %a : i32
    tt.store %p, %s : !tt.ptr<i32>, i32
  } else {
    %t = arith.addi %a, %a : i32
    tt.store %p, %t : !tt.ptr<i32>, i32
  }
  tt.return
}

// CHECK-LABEL: tt.func @unused_goes_volatile_stays
tt.func @unused_goes_volatile_stays(%p: !tt.ptr<f32>, %a: i32) {
  // CHECK-NOT: arith.addi
  // CHECK-COUNT-2: tt.load
  %unused = arith.addi %a, %a : i32
  %x = tt.load %p {isVolatile} : !tt.ptr<f32> -> f32
  %y = tt.load %p {isVolatile} : !tt.ptr<f32> -> f32
  tt.return
}
