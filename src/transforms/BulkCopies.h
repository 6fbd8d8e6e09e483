// Finds the tile loads that one thread can start as copies of boxes, and says where their tiles begin. In:
// loads in simt whose tiles go to buffers by a given map. Out: copy maps (base/CopyMap.h), and scalars of the
// program.
//
// A tile is such a window of memory if its addresses are `pointer + base + row·stride + column·size`, the
// pointer and what the stride is made of being parameters, and its mask is bounds of rows and columns. What
// of this depends on numbers of the run is a condition that the program computes: no arithmetic wrapped,
// nothing is clamped and no remainder wraps around inside of the tile, and the place is one that maps have.
// Where all of it is linear in the trip's number, that is asked once ahead of the loop.
#pragma once
#include "analysis/Access.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Simt.h"
#include "transforms/TripValues.h"

#include "mlir/IR/Builders.h"

namespace tegula::transforms {

class AskedAhead;

class BulkCopies {
public:
  explicit BulkCopies(mlir::Operation *function);

  struct Plan {
    tile::LoadOp load;
    CopyMap map;
    unsigned inner = 1; // the dimension of the columns; the other one's are rows
  };
  // Why a load is none is appended to `why`.
  std::optional<Plan> plan(tile::LoadOp load, const layout::SharedMap &map, std::string &why);

  struct Place {
    mlir::Value column, row, origin; // of simt.bulk_copy
  };
  // Conditions of all trips, known ahead of the loop.
  struct Ahead {
    mlir::Value fits;
    mlir::Value tailFits; // so does a tile whose columns end inside of it; null: as others do
  };
  // Emits them ahead of the loop; nullopt where not all is linear in the trip's number.
  std::optional<Ahead> fitsInAllTrips(mlir::OpBuilder &builder, const Plan &plan, TripValues &trips);
  // Emits where the tile begins; `fits` becomes false, too, where a condition does not hold. `ahead`: what
  // was asked ahead of the loop is not asked again.
  Place locate(mlir::OpBuilder &builder, const Plan &plan, const std::optional<Ahead> &ahead,
               mlir::Value &fits);

private:
  struct Needed {
    llvm::SmallVector<analysis::Conjunct, 2> conjuncts;
    llvm::SmallVector<mlir::Value, 8> conditions; // of the address and the mask
  };
  Needed neededBy(tile::LoadOp load, const analysis::Address &address);
  bool boundsInAllTrips(mlir::OpBuilder &builder, const Plan &plan, const Needed &needed, AskedAhead &asked,
                        std::optional<InTrips> (&bounds)[2]);
  std::optional<analysis::Address> addressOf(tile::LoadOp load);
  bool isEverywhereRead(tile::LoadOp load);

  mlir::Operation *function_;
  analysis::AccessAnalysis access_{/*throughClamps=*/true};
  analysis::PointerOrigins origins_;
};

} // namespace tegula::transforms
