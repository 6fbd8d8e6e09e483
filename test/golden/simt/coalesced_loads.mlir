// RUN: tegula-opt %s -tile-to-simt="warps=4 remarks" 2>&1 | FileCheck %s
// Accesses are as wide as contiguity, alignment and mask allow; the reason is told where they are not.

// CHECK: remark: access: load of 4 elements an access
// CHECK: remark: access: store of 1 element an access: {{.+}}
// CHECK: #layout = #simt.layout<"coalesced<order=0 vector=4 warps=4> [1024]
// CHECK-SAME: lane=[(4),(8),(16),(32),(64)] warp=[(128),(256)]
// CHECK-LABEL: tt.func @copy
// CHECK: tt.load {{.*}}simt.width = 4
// CHECK: tt.store {{.*}}simt.width = 1
tt.func @copy(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32>) {
  %i = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %ax = tt.addptr %px, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %ax : tensor<1024x!tt.ptr<f32>> -> tensor<1024xf32>
  %py = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %ay = tt.addptr %py, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %ay, %v : tensor<1024x!tt.ptr<f32>>, tensor<1024xf32>
  tt.return
}
