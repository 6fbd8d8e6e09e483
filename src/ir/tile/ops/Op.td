// The base of every op of the dialect.
#ifndef TEGULA_IR_TILE_OP
#define TEGULA_IR_TILE_OP

include "ir/tile/Dialect.td"
include "ir/tile/Types.td"
include "ir/tile/Attributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif // TEGULA_IR_TILE_OP
