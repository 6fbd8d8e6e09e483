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
