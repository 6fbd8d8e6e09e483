// The tile dialect: one header for its types, attributes and ops.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/tile/Dialect.h.inc"
#include "ir/tile/Enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/Attributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/Types.h.inc"
#define GET_OP_CLASSES
#include "ir/tile/Ops.h.inc"

namespace tegula::tile {

// The version of the dialect's meaning, written into every stored module. Raised when
// a reader of an older module would misread it.
inline constexpr unsigned dialectVersion = 0;

// Loads the dialect and all it stands on. The context must be single-threaded.
void loadDialects(mlir::MLIRContext &context);

// A context of one thread, in which they are loaded. Threading::DISABLED alone leaves the locks of MLIR's
// tables of types and attributes, and for each thread a cache that is gone through once for every context
// that lives.
std::unique_ptr<mlir::MLIRContext> makeContext();

// True for the type of a tile; a tile is what has a shape. A value may be null: then false.
bool isTile(mlir::Type type);
bool isTile(mlir::Value value);
// True if one of the values is a tile.
bool hasTile(mlir::ValueRange values);
// The element of a tile, or the scalar itself.
mlir::Type elementType(mlir::Type type);
// The shape of a tile; empty for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
// `element` with the shape of `like`.
mlir::Type withElement(mlir::Type like, mlir::Type element);
// "file:line:column" of the innermost source that a location names, lines of the language's own library left
// out where a user's line called it; empty where it names none.
std::string locationText(mlir::Location location);

} // namespace tegula::tile
