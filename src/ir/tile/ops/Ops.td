// Every op, family by family.
include "ir/tile/ops/Control.td"
include "ir/tile/ops/Indexing.td"
include "ir/tile/ops/Shape.td"
include "ir/tile/ops/Memory.td"
include "ir/tile/ops/Elementwise.td"
include "ir/tile/ops/Reduce.td"
include "ir/tile/ops/Dot.td"
