// RUN: tegula-opt %s -tile-to-simt=warps=4 -plan-converts -allocate-shared -insert-barriers | FileCheck %s
// A barrier stands where an address may come from an argument that another warp still accesses, however the
// address was chosen: carried by loops, picked by a branch or a select, an integer on the way. None stands
// between accesses that can only come from two arguments.

// CHECK-LABEL: tt.func @swapped
// CHECK: scf.for
// CHECK: simt.barrier
// CHECK-NEXT: tt.load
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
// CHECK-NOT: simt.barrier
// CHECK: tt.return
tt.func @swapped(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %j = tt.make_range {end = 513 : i32, start = 1 : i32} : tensor<512xi32>
  scf.for %k = %c0 to %n step %c1 iter_args(%src = %a, %dst = %b) -> (!tt.ptr<i32>, !tt.ptr<i32>) : i32 {
    %s = tt.splat %src : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
    %from = tt.addptr %s, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
    %d = tt.splat %dst : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
    %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    scf.yield %dst, %src : !tt.ptr<i32>, !tt.ptr<i32>
  }
  tt.return
}

// Each walks along its own array: only the stores of two trips could meet.
// CHECK-LABEL: tt.func @walked
// CHECK-NOT: simt.barrier
// CHECK: tt.load
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
// CHECK-NOT: simt.barrier
// CHECK: tt.return
tt.func @walked(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<512> : tensor<512xi32>
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %s = tt.splat %a : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %d = tt.splat %b : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %from0 = tt.addptr %s, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %to0 = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  scf.for %k = %c0 to %n step %c1 iter_args(%from = %from0, %to = %to0)
      -> (tensor<512x!tt.ptr<i32>>, tensor<512x!tt.ptr<i32>>) : i32 {
    %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
    tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    %from1 = tt.addptr %from, %step : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    %to1 = tt.addptr %to, %step : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    scf.yield %from1, %to1 : tensor<512x!tt.ptr<i32>>, tensor<512x!tt.ptr<i32>>
  }
  tt.return
}

// CHECK-LABEL: tt.func @swapped_in_while
// CHECK: scf.while
// CHECK: simt.barrier
// CHECK-NEXT: tt.load
// CHECK: tt.store
// CHECK: tt.return
tt.func @swapped_in_while(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %j = tt.make_range {end = 513 : i32, start = 1 : i32} : tensor<512xi32>
  scf.while (%k = %c0, %src = %a, %dst = %b) : (i32, !tt.ptr<i32>, !tt.ptr<i32>) -> (i32, !tt.ptr<i32>, !tt.ptr<i32>) {
    %more = arith.cmpi slt, %k, %n : i32
    scf.condition(%more) %k, %src, %dst : i32, !tt.ptr<i32>, !tt.ptr<i32>
  } do {
  ^bb0(%k: i32, %src: !tt.ptr<i32>, %dst: !tt.ptr<i32>):
    %s = tt.splat %src : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
    %from = tt.addptr %s, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
    %d = tt.splat %dst : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
    %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    %next = arith.addi %k, %c1 : i32
    scf.yield %next, %dst, %src : i32, !tt.ptr<i32>, !tt.ptr<i32>
  }
  tt.return
}

// The condition is read once more before the loop ends.
// CHECK-LABEL: tt.func @stored_behind_a_condition
// CHECK: scf.while
// CHECK: tt.load
// CHECK: tt.barrier
// CHECK: scf.yield
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
tt.func @stored_behind_a_condition(%flag: !tt.ptr<i32>, %n: i32) {
  scf.while : () -> () {
    %v = tt.load %flag : !tt.ptr<i32> -> i32
    %more = arith.cmpi slt, %v, %n : i32
    scf.condition(%more)
  } do {
    tt.barrier
    scf.yield
  }
  tt.store %flag, %n : !tt.ptr<i32>, i32
  tt.return
}

// CHECK-LABEL: tt.func @selected
// CHECK: tt.load
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
tt.func @selected(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %c: i1) {
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %j = tt.make_range {end = 513 : i32, start = 1 : i32} : tensor<512xi32>
  %src = arith.select %c, %a, %b : !tt.ptr<i32>
  %s = tt.splat %src : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %from = tt.addptr %s, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
  %d = tt.splat %b : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.return
}

// A third argument is not among the two that the branch picks.
// CHECK-LABEL: tt.func @picked
// CHECK: scf.if
// CHECK: tt.load
// CHECK-NOT: simt.barrier
// CHECK: tt.store %{{.*}}simt.width
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
// CHECK-NOT: simt.barrier
// CHECK: tt.return
tt.func @picked(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %other: !tt.ptr<i32>, %c: i1) {
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %j = tt.make_range {end = 513 : i32, start = 1 : i32} : tensor<512xi32>
  %s = tt.splat %a : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %d = tt.splat %b : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %o = tt.splat %other : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %from = scf.if %c -> tensor<512x!tt.ptr<i32>> {
    %x = tt.addptr %s, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    scf.yield %x : tensor<512x!tt.ptr<i32>>
  } else {
    %x = tt.addptr %d, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    scf.yield %x : tensor<512x!tt.ptr<i32>>
  }
  %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
  %elsewhere = tt.addptr %o, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %elsewhere, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.return
}

// The inner loop swaps, the outer one accesses.
// CHECK-LABEL: tt.func @nested
// CHECK: scf.for
// CHECK: scf.for
// CHECK: simt.barrier
// CHECK-NEXT: tt.load
// CHECK: tt.store
// CHECK: tt.return
tt.func @nested(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %j = tt.make_range {end = 513 : i32, start = 1 : i32} : tensor<512xi32>
  scf.for %k = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (!tt.ptr<i32>, !tt.ptr<i32>) : i32 {
    %src, %dst = scf.for %l = %c0 to %k step %c1 iter_args(%x = %p, %y = %q) -> (!tt.ptr<i32>, !tt.ptr<i32>) : i32 {
      scf.yield %y, %x : !tt.ptr<i32>, !tt.ptr<i32>
    }
    %s = tt.splat %src : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
    %from = tt.addptr %s, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
    %d = tt.splat %dst : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
    %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
    scf.yield %p, %q : !tt.ptr<i32>, !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: tt.func @as_integer
// CHECK: tt.load
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
tt.func @as_integer(%a: !tt.ptr<i32>) {
  %c4 = arith.constant 4 : i64
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %s = tt.splat %a : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %from = tt.addptr %s, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
  %x = tt.ptr_to_int %a : !tt.ptr<i32> -> i64
  %y = arith.addi %x, %c4 : i64
  %z = tt.int_to_ptr %y : i64 -> !tt.ptr<i32>
  %d = tt.splat %z : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.return
}

// A pointer out of memory may lead anywhere.
// CHECK-LABEL: tt.func @out_of_memory
// CHECK: tt.load
// CHECK: tt.load
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
tt.func @out_of_memory(%a: !tt.ptr<i32>, %table: !tt.ptr<!tt.ptr<i32>>) {
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %s = tt.splat %a : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %from = tt.addptr %s, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %v = tt.load %from : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
  %z = tt.load %table : !tt.ptr<!tt.ptr<i32>> -> !tt.ptr<i32>
  %d = tt.splat %z : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %to = tt.addptr %d, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %to, %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.return
}
