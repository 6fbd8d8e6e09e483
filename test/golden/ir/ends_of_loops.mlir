// RUN: tegula-opt %s -canonicalize | FileCheck %s
// In a loop up to n, something is below n, so that n - 1 does not wrap: `x <= n - 1` is `x < n` there. Ahead of
// the loop n may be the least number of all.

// CHECK-LABEL: tt.func @up_to_the_last
// CHECK: arith.cmpi sle
// CHECK: scf.for
// CHECK: %[[END:.*]] = tt.splat %arg1 : i32
// CHECK: arith.cmpi slt, %[[O:.*]], %[[END]] : tensor<64xi32>
// CHECK: %[[END2:.*]] = tt.splat %arg1 : i32
// CHECK: arith.cmpi sge, %[[O]], %[[END2]] : tensor<64xi32>
tt.func @up_to_the_last(%x: !tt.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %step = arith.constant 64 : i32
  %v = arith.constant dense<1.0> : tensor<64xf32>
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %a = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %last = arith.subi %n, %one : i32
  %lasts = tt.splat %last : i32 -> tensor<64xi32>
  %ahead = arith.cmpi sle, %i, %lasts : tensor<64xi32>
  tt.store %a, %v mask %ahead : tensor<64x!tt.ptr<f32>>, tensor<64xf32>, mask tensor<64xi1>
  scf.for %k = %zero to %n step %step : i32 {
    %ks = tt.splat %k : i32 -> tensor<64xi32>
    %o = arith.addi %ks, %i : tensor<64xi32>
    %b = tt.addptr %p, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %below = arith.cmpi sle, %o, %lasts : tensor<64xi32>
    tt.store %b, %v mask %below : tensor<64x!tt.ptr<f32>>, tensor<64xf32>, mask tensor<64xi1>
    %behind = arith.cmpi slt, %lasts, %o : tensor<64xi32>
    tt.store %b, %v mask %behind : tensor<64x!tt.ptr<f32>>, tensor<64xf32>, mask tensor<64xi1>
  }
  tt.return
}
