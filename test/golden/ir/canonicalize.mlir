// What canonicalization makes smaller. Only splats become constants.
// RUN: tegula-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: tt.func @splats_of_constants
tt.func @splats_of_constants(%p: !tt.ptr<f32>) {
  // CHECK-DAG: %[[P:.*]] = tt.splat %arg0 : !tt.ptr<f32> -> tensor<2x4x!tt.ptr<f32>>
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<2x4xf32>
  // CHECK: tt.store %[[P]], %[[C]]
  %c = arith.constant 1.0 : f32
  %s = tt.splat %c : f32 -> tensor<4xf32>
  %e = tt.expand_dims %s {axis = 0 : i32} : tensor<4xf32> -> tensor<1x4xf32>
  %b = tt.broadcast %e : tensor<1x4xf32> -> tensor<2x4xf32>
  %t = arith.addf %b, %b : tensor<2x4xf32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<2x4x!tt.ptr<f32>>
  tt.store %ps, %t : tensor<2x4x!tt.ptr<f32>>, tensor<2x4xf32>
  tt.return
}

// CHECK-LABEL: tt.func @ranges_stay
tt.func @ranges_stay(%p: !tt.ptr<i32>) {
  // CHECK: tt.make_range
  // CHECK: arith.addi
  %r = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %c = arith.constant dense<1> : tensor<4xi32>
  %s = arith.addi %r, %c : tensor<4xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
  tt.store %ps, %s : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  tt.return
}

// A value that is one for the whole tile is computed once.
// CHECK-LABEL: tt.func @scalars_stay_scalars
tt.func @scalars_stay_scalars(%p: !tt.ptr<f32>, %a: i32, %b: i32, %v: f32) {
  // CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
  // CHECK: %[[M:.*]] = arith.muli %arg1, %[[THREE]] : i32
  // CHECK: %[[Q:.*]] = tt.addptr %arg0, %[[M]] : !tt.ptr<f32>, i32
  // CHECK: tt.splat %[[Q]] : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  // CHECK: %[[C:.*]] = arith.cmpi slt, %[[M]], %arg2 : i32
  // CHECK: tt.splat %[[C]] : i1 -> tensor<4xi1>
  %as = tt.splat %a : i32 -> tensor<4xi32>
  %bs = tt.splat %b : i32 -> tensor<4xi32>
  %c = arith.constant dense<3> : tensor<4xi32>
  %m = arith.muli %as, %c : tensor<4xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %q = tt.addptr %ps, %m : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  %k = arith.cmpi slt, %m, %bs : tensor<4xi32>
  %vs = tt.splat %v : f32 -> tensor<4xf32>
  tt.store %q, %vs mask %k : tensor<4x!tt.ptr<f32>>, tensor<4xf32>, mask tensor<4xi1>
  tt.return
}

// CHECK-LABEL: tt.func @constant_masks
tt.func @constant_masks(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %x: f32) {
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %xs = tt.splat %x : f32 -> tensor<4xf32>
  %true = arith.constant dense<true> : tensor<4xi1>
  %false = arith.constant dense<false> : tensor<4xi1>
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[X:.*]] = tt.splat %arg2 : f32 -> tensor<4xf32>
  // CHECK: %[[L:.*]] = tt.load %[[P:[^ ]*]] : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>
  // CHECK-NEXT: tt.store %[[P]], %[[L]] : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  // CHECK-NEXT: tt.store %[[P]], %[[X]] : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  // CHECK-NEXT: tt.store %[[P]], %[[ZERO]] : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  // CHECK-NEXT: tt.return
  %a = tt.load %ps mask %true other %xs : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>, mask tensor<4xi1>, other tensor<4xf32>
  %b = tt.load %ps mask %false other %xs : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>, mask tensor<4xi1>, other tensor<4xf32>
  %c = tt.load %ps mask %false : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>, mask tensor<4xi1>
  tt.store %ps, %a mask %true : tensor<4x!tt.ptr<f32>>, tensor<4xf32>, mask tensor<4xi1>
  tt.store %ps, %xs mask %false : tensor<4x!tt.ptr<f32>>, tensor<4xf32>, mask tensor<4xi1>
  tt.store %ps, %b : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  tt.store %ps, %c : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  tt.return
}

// CHECK-LABEL: tt.func @shapes_compose
tt.func @shapes_compose(%p: !tt.ptr<i32>) {
  // CHECK: %[[R:.*]] = tt.make_range
  // CHECK-NEXT: %[[S:.*]] = tt.reshape %[[R]] : tensor<8xi32> -> tensor<2x2x2xi32>
  // CHECK-NEXT: tt.trans %[[S]] {order = array<i32: 1, 2, 0>}
  %r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %a = tt.reshape %r : tensor<8xi32> -> tensor<4x2xi32>
  %b = tt.reshape %a : tensor<4x2xi32> -> tensor<2x2x2xi32>
  %c = tt.trans %b {order = array<i32: 2, 1, 0>} : tensor<2x2x2xi32> -> tensor<2x2x2xi32>
  %d = tt.trans %c {order = array<i32: 1, 0, 2>} : tensor<2x2x2xi32> -> tensor<2x2x2xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<2x2x2x!tt.ptr<i32>>
  tt.store %ps, %d : tensor<2x2x2x!tt.ptr<i32>>, tensor<2x2x2xi32>
  tt.return
}

// What nothing needs with a dimension of extent 1 is loaded and computed without it; a hint has an entry a dimension.
// CHECK-LABEL: tt.func @batch_of_one
tt.func @batch_of_one(%p: !tt.ptr<f32>, %o: !tt.ptr<f32>) {
  %r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %row = tt.expand_dims %r {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %one = tt.expand_dims %row {axis = 2 : i32} : tensor<1x8xi32> -> tensor<1x8x1xi32>
  %all = tt.broadcast %one : tensor<1x8x1xi32> -> tensor<1x8x4xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1x8x4x!tt.ptr<f32>>
  %q = tt.addptr %ps, %all : tensor<1x8x4x!tt.ptr<f32>>, tensor<1x8x4xi32>
  // CHECK: tt.load %{{.*}} : tensor<8x4x!tt.ptr<f32>> -> tensor<8x4xf32>
  // CHECK-NOT: tt.load
  // CHECK-NOT: tt.reshape
  // CHECK: math.exp2 %{{.*}} : tensor<8x4xf32>
  %x = tt.load %q : tensor<1x8x4x!tt.ptr<f32>> -> tensor<1x8x4xf32>
  %e = math.exp2 %x : tensor<1x8x4xf32>
  %y = tt.reshape %e : tensor<1x8x4xf32> -> tensor<8x4xf32>
  // CHECK: tt.load %{{.*}} : tensor<1x8x4x!tt.ptr<f32>> -> tensor<1x8x4xf32>
  // CHECK: tt.reshape
  %z = tt.load %q {tt.divisibility = array<i64: 1, 1, 4>} : tensor<1x8x4x!tt.ptr<f32>> -> tensor<1x8x4xf32>
  %w = tt.reshape %z : tensor<1x8x4xf32> -> tensor<8x4xf32>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<8x4x!tt.ptr<f32>>
  tt.store %os, %y : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xf32>
  tt.store %os, %w : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xf32>
  tt.return
}

// CHECK-LABEL: tt.func @there_and_back
tt.func @there_and_back(%p: !tt.ptr<f32>, %x: f32) {
  // CHECK-NEXT: %[[C:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: tt.store %arg0, %arg1 : !tt.ptr<f32>, f32
  // CHECK-NEXT: tt.store %arg0, %arg1 : !tt.ptr<f32>, f32
  // CHECK-NEXT: tt.store %arg0, %[[C]] : !tt.ptr<f32>, f32
  // CHECK-NEXT: tt.return
  %a = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
  %q = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>
  %i = tt.bitcast %x : f32 -> i32
  %y = tt.bitcast %i : i32 -> f32
  tt.store %q, %y : !tt.ptr<f32>, f32
  %s = tt.splat %x : f32 -> tensor<1xf32>
  %u = tt.unsplat %s : tensor<1xf32> -> f32
  tt.store %q, %u : !tt.ptr<f32>, f32
  %c = arith.constant 0x3F800000 : i32
  %f = tt.bitcast %c : i32 -> f32
  tt.store %p, %f : !tt.ptr<f32>, f32
  tt.return
}

// CHECK-LABEL: tt.func @one_element
tt.func @one_element(%p: !tt.ptr<i32>) {
  // CHECK-NOT: tt.reduce
  // CHECK: %[[V:.*]] = tt.load %arg0
  // CHECK: tt.store %arg0, %[[V]] : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32> -> i32
  %s = tt.splat %v : i32 -> tensor<1xi32>
  %r = tt.reduce %s axis 0 {
  ^bb0(%a: i32, %b: i32):
    %t = arith.addi %a, %b : i32
    tt.reduce.return %t : i32
  } : (tensor<1xi32>) -> i32
  tt.store %p, %r : !tt.ptr<i32>, i32
  tt.return
}

// Division by a constant zero has a value here, and must not become undefined.
// CHECK-LABEL: tt.func @defined_corners
tt.func @defined_corners(%p: !tt.ptr<i32>, %x: i32) {
  // CHECK-NOT: poison
  // CHECK: arith.divsi
  // CHECK: arith.shli
  // CHECK: tt.return
  %zero = arith.constant 0 : i32
  %wide = arith.constant 32 : i32
  %a = arith.divsi %x, %zero : i32
  tt.store %p, %a : !tt.ptr<i32>, i32
  %b = arith.shli %x, %wide : i32
  tt.store %p, %b : !tt.ptr<i32>, i32
  tt.return
}

// CHECK-LABEL: tt.func @atomics_under_constant_masks
tt.func @atomics_under_constant_masks(%p: !tt.ptr<i32>, %x: i32) {
  %on = arith.constant true
  %off = arith.constant false
  // CHECK-NOT: mask
  // CHECK: tt.atomic_rmw add, relaxed, gpu, %arg0, %arg1 : !tt.ptr<i32>, i32 -> i32
  %0 = tt.atomic_rmw add, relaxed, gpu, %p, %x mask %on : !tt.ptr<i32>, i32, mask i1 -> i32
  // CHECK-NOT: tt.atomic_rmw
  %1 = tt.atomic_rmw add, relaxed, gpu, %p, %x mask %off : !tt.ptr<i32>, i32, mask i1 -> i32
  // CHECK: tt.store %arg0, %c0_i32
  tt.store %p, %1 : !tt.ptr<i32>, i32
  tt.return
}

// CHECK-LABEL: tt.func @nothing_to_scan_or_to_check
tt.func @nothing_to_scan_or_to_check(%p: !tt.ptr<f32>) {
  %i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %q = tt.addptr %ps, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  // CHECK: %[[X:.*]] = tt.load
  %x = tt.load %q : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>
  %row = tt.expand_dims %x {axis = 0 : i32} : tensor<4xf32> -> tensor<1x4xf32>
  // CHECK-NOT: tt.scan
  %y = tt.scan %row axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.scan.return %s : f32
  } : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %z = tt.reshape %y : tensor<1x4xf32> -> tensor<4xf32>
  // CHECK-NOT: tt.assert
  %true = arith.constant true
  tt.assert %true, "always" : i1
  tt.store %q, %z : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  tt.return
}

// Packed elements are neighbours: only one at a time is the same for a scalar. Hints of a tile fit no scalar.
// CHECK-LABEL: tt.func @splats_through_inline_asm
tt.func @splats_through_inline_asm(%x: i32, %p: !tt.ptr<i32>) {
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<2x4x!tt.ptr<i32>>
  %xs = tt.splat %x : i32 -> tensor<2x4xi32>
  // CHECK: %[[A:.*]] = tt.elementwise_inline_asm {{.*}} : i32 -> i32
  %a = tt.elementwise_inline_asm "one" {constraints = "=r,r", pure = true, packedElement = 1 : i32} %xs : tensor<2x4xi32> -> tensor<2x4xi32>
  // CHECK: tt.elementwise_inline_asm {{.*}} : tensor<2x4xi32> -> tensor<2x4xi32>
  %b = tt.elementwise_inline_asm "two" {constraints = "=r,=r,r,r", pure = true, packedElement = 2 : i32} %xs : tensor<2x4xi32> -> tensor<2x4xi32>
  // CHECK: arith.muli %[[A]], %arg0 {tt.divisibility = array<i64: 8>} : i32
  %c = arith.muli %a, %xs {tt.divisibility = array<i64: 8, 16>, tt.contiguity = array<i64: 2, 4>} : tensor<2x4xi32>
  %d = arith.addi %b, %c : tensor<2x4xi32>
  tt.store %ps, %d : tensor<2x4x!tt.ptr<i32>>, tensor<2x4xi32>
  tt.return
}
