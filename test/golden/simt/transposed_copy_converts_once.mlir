// RUN: tegula-opt %s -tile-to-simt=warps=4 -plan-converts -allocate-shared -insert-barriers | FileCheck %s
// A tile read along rows and written along columns changes its layout once, through shared memory.

// CHECK-LABEL: tt.func @transpose
// CHECK: %[[V:.+]] = tt.load {{.*}}simt.width = 4
// CHECK-NOT: simt.barrier
// CHECK: %[[C:.+]] = simt.convert %[[V]] by <shared [{{.+}}] rounds 0 bytes 16384 cost {{[0-9]+}}> {simt.scratch = 0
// CHECK-NOT: simt.convert
// CHECK: tt.store %{{.+}}, %[[C]] {{.*}}simt.width = 4
tt.func @transpose(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %r = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %c = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %n = arith.constant dense<64> : tensor<64x1xi32>
  %m = arith.constant dense<64> : tensor<1x64xi32>
  %rn = arith.muli %r, %n : tensor<64x1xi32>
  %cm = arith.muli %c, %m : tensor<1x64xi32>
  %rb = tt.broadcast %r : tensor<64x1xi32> -> tensor<64x64xi32>
  %cb = tt.broadcast %c : tensor<1x64xi32> -> tensor<64x64xi32>
  %rnb = tt.broadcast %rn : tensor<64x1xi32> -> tensor<64x64xi32>
  %cmb = tt.broadcast %cm : tensor<1x64xi32> -> tensor<64x64xi32>
  %in = arith.addi %rnb, %cb : tensor<64x64xi32>
  %out = arith.addi %rb, %cmb : tensor<64x64xi32>
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ax = tt.addptr %px, %in : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %v = tt.load %ax : tensor<64x64x!tt.ptr<f32>> -> tensor<64x64xf32>
  %py = tt.splat %y : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ay = tt.addptr %py, %out : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %ay, %v : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xf32>
  tt.return
}
