// Finds the tile loads and stores that one thread can start as copies of boxes, and says where their tiles
// begin. In: accesses in simt whose tiles go to buffers, or come from there, by a given map. Out: copy maps
// (base/CopyMap.h), and scalars of the program.
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

  // A load, or a store.
  struct Access {
    mlir::Operation *op;
    mlir::Value pointers, mask; // the mask may be null
    mlir::RankedTensorType tile;
    Access(tile::LoadOp load)
        : op(load), pointers(load.getPtr()), mask(load.getMask()),
          tile(mlir::dyn_cast<mlir::RankedTensorType>(load.getType())) {}
    Access(tile::StoreOp store)
        : op(store), pointers(store.getPtr()), mask(store.getMask()),
          tile(mlir::dyn_cast<mlir::RankedTensorType>(store.getValue().getType())) {}
  };
  struct Plan {
    Access access;
    CopyMap map;
    unsigned inner = 1; // the dimension of the columns; the other one's are rows
    bool isClamped =
        false; // rows or columns are clamped or wrap around: at an edge of the tensor no box fits
  };
  // Why an access is none is said in `why`. Of a store others have to say that its order to what the kernel
  // else does with such memory is kept.
  std::optional<Plan> plan(const Access &access, const layout::SharedMap &map, std::string &why);
  // The buffer's map of boxes for a tile, whose columns are `inner`: the order that `plan` asks for.
  static layout::SharedMap mapOfBoxes(llvm::ArrayRef<int64_t> shape, unsigned inner, unsigned elementBytes);
  // The dimension along which the elements of a tile of pointers follow each other; nullopt: there is none.
  std::optional<unsigned> innerOf(const Access &access);
  // The difference of the places of two tiles that are made of one pointer and one distance of rows, in
  // bytes, where it is a constant.
  std::optional<int64_t> distance(const Access &from, const Access &to);
  // Emits how far rows are apart, in bytes.
  mlir::Value rowDistance(mlir::OpBuilder &builder, const Plan &plan);

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
  Needed neededBy(const Access &access, const analysis::Address &address);
  bool boundsInAllTrips(mlir::OpBuilder &builder, const Plan &plan, const Needed &needed, AskedAhead &asked,
                        std::optional<InTrips> (&bounds)[2]);
  std::optional<analysis::Address> addressOf(const Access &access);
  bool isEverywhereRead(tile::LoadOp load);

  mlir::Operation *function_;
  analysis::AccessAnalysis access_{/*throughClamps=*/true};
  analysis::PointerOrigins origins_;
};

} // namespace tegula::transforms
