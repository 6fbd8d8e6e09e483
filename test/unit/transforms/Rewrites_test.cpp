// Rewrites of tile IR leave behind what the kernel did: each case runs in the reference before and after.
#include "Parsed.h"
#include "interp/Interp.h"
#include "ir/tile/Volatile.h"
#include "transforms/ChunkLargeTiles.h"
#include "transforms/MarkVolatileStores.h"
#include "transforms/RelaxSums.h"
#include "transforms/SplitLoopCarriedOffsets.h"

#include <functional>
#include <numeric>

using namespace tegula;
using namespace tegula::test;

namespace {

const std::string arguments = "%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %n: i32, %c: i1";
const std::string addresses = R"(
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %one = arith.constant dense<1> : tensor<64xi32>
  %j = arith.addi %i, %one : tensor<64xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %qs = tt.splat %q : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %pa = tt.addptr %ps, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %qa = tt.addptr %qs, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)";
const std::string loadP = "%v = tt.load %pa : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>\n";
std::string store(const std::string &address, const std::string &value = "v") {
  return "tt.store %" + address + ", %" + value + " : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n";
}

std::vector<int32_t> memoryAfter(Parsed &kernel) {
  std::vector<int32_t> memory(1024);
  std::iota(memory.begin(), memory.end(), 100);
  auto address = [&](size_t at) { return uint64_t(reinterpret_cast<uintptr_t>(&memory[at])); };
  Status status = interp::run(*kernel.module, std::vector<uint64_t>{address(0), address(512), 3, 1}, {});
  EXPECT_TRUE(status.ok()) << status.message;
  return memory;
}

bool isChunked(const std::string &body, unsigned most = 16, unsigned chunk = 16, unsigned registers = 1024,
               unsigned work = 1024) {
  Parsed kernel(arguments, addresses + body);
  std::vector<int32_t> before = memoryAfter(kernel);
  simt::Machine machine;
  simt::Costs &costs = machine.costs;
  costs.largestTile = most;
  costs.chunk = chunk;
  costs.loadedRegisters = registers;
  costs.busyWork = work;
  costs.busyChunk = chunk / 2;
  bool changed = transforms::chunkLargeTiles(kernel.function, /*threads=*/1, machine).has_value();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*kernel.module)));
  EXPECT_EQ(memoryAfter(kernel), before);
  return changed;
}

TEST(Chunks, OfAStreamingKernel) {
  EXPECT_TRUE(isChunked(loadP + "%w = arith.addi %v, %one : tensor<64xi32>\n" + store("qa", "w")));
  EXPECT_TRUE(isChunked(loadP + "%w = arith.addi %v, %i : tensor<64xi32>\n" + store("pa", "w")))
      << "in place";
}

TEST(Chunks, NotOfWhatFits) { EXPECT_FALSE(isChunked(loadP + store("qa"), 64)); }

TEST(Chunks, OfHalvesThatDivideTheTile) {
  EXPECT_TRUE(isChunked(loadP + store("qa"), 16, 24)) << "chunks of 16";
}

TEST(Chunks, OfWhatWouldFitButForItsLoadsOrItsWork) {
  EXPECT_TRUE(isChunked(loadP + store("qa"), 64, 16, /*registers=*/63));
  EXPECT_FALSE(isChunked(loadP + store("qa"), 64, 16, /*registers=*/64));
  EXPECT_TRUE(
      isChunked("%v = arith.addi %i, %one : tensor<64xi32>\n%d = arith.remsi %i, %v : tensor<64xi32>\n" +
                    store("qa", "d"),
                64, 16, 1024, /*work=*/8));
}

TEST(Chunks, NotWhereAStoreCouldMeetALoad) {
  const std::string shifted = "%pb = tt.addptr %ps, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n";
  EXPECT_FALSE(isChunked(shifted + loadP + store("pb")));
  EXPECT_FALSE(isChunked(R"(
    %s = arith.select %c, %p, %q : !tt.ptr<i32>
    %ss = tt.splat %s : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %sa = tt.addptr %ss, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)" + loadP + store("sa")))
      << "a select may pick the argument that is loaded";
  EXPECT_FALSE(isChunked(R"(
    %x = tt.ptr_to_int %p : !tt.ptr<i32> -> i64
    %four = arith.constant 4 : i64
    %y = arith.addi %x, %four : i64
    %z = tt.int_to_ptr %y : i64 -> !tt.ptr<i32>
    %zs = tt.splat %z : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %za = tt.addptr %zs, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)" + loadP + store("za")))
      << "an integer on the way";
}

TEST(Chunks, OfASelectThatPicksAmongOthers) {
  EXPECT_TRUE(isChunked(R"(
    %q1 = tt.addptr %q, %n : !tt.ptr<i32>, i32
    %s = arith.select %c, %q1, %q : !tt.ptr<i32>
    %ss = tt.splat %s : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %sa = tt.addptr %ss, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)" + loadP + store("sa")));
}

TEST(Chunks, NotOfReductions) {
  EXPECT_FALSE(isChunked(loadP + R"(
    %s = tt.reduce %v axis 0 {
    ^bb0(%l: i32, %r: i32):
      %t = arith.addi %l, %r : i32
      tt.reduce.return %t : i32
    } : (tensor<64xi32>) -> i32
    tt.store %q, %s : !tt.ptr<i32>, i32)"));
}

// Says which of the stores are marked, in order.
std::string markedStores(const std::string &body) {
  Parsed kernel(arguments, body);
  transforms::markVolatileStores(kernel.function);
  std::string text;
  kernel.module->walk([&](tile::StoreOp store) { text += tile::isVolatile(store) ? "!" : "."; });
  return text;
}

// Says of each atomic step, in order, whether it is relaxed.
std::string relaxedSums(const std::string &body) {
  Parsed kernel("%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32", R"(
    %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %pa = tt.addptr %ps, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %qa = tt.addptr %qs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = arith.constant dense<1.0> : tensor<64xf32>
    %x = arith.constant 1.0 : f32
)" + body);
  transforms::relaxSums(kernel.function);
  std::string text;
  kernel.module->walk(
      [&](tile::AtomicRMWOp atomic) { text += atomic.getSem() == tile::MemSemantic::Relaxed ? "r" : "o"; });
  return text;
}

TEST(RelaxedSums, AreThoseFromWhichNothingOfTheLaunchAcquires) {
  auto step = [](const std::string &what, const std::string &at, const std::string &old = "old") {
    return "%" + old + " = tt.atomic_rmw " + what + ", %" + at +
           ", %v : tensor<64x!tt.ptr<f32>>, tensor<64xf32> -> tensor<64xf32>\n";
  };
  const std::string sum = step("fadd, acq_rel, gpu", "pa");
  const std::string scalar = "%s = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x : !tt.ptr<f32>, f32 -> f32\n";
  const std::string store = "tt.store %qa, %v : tensor<64x!tt.ptr<f32>>, tensor<64xf32>\n";
  EXPECT_EQ(relaxedSums(sum), "r");
  EXPECT_EQ(relaxedSums(store + sum), "r");
  EXPECT_EQ(relaxedSums(sum + "%l = tt.load %pa : tensor<64x!tt.ptr<f32>> -> tensor<64xf32>"), "r")
      << "a plain load acquires nothing";
  EXPECT_EQ(relaxedSums(sum + "%l = tt.load %p {isVolatile} : !tt.ptr<f32> -> f32"), "o");
  EXPECT_EQ(relaxedSums(sum + step("exch, acq_rel, gpu", "pa", "other")), "oo");
  EXPECT_EQ(relaxedSums(sum + step("exch, acq_rel, gpu", "qa", "other")), "ro") << "of another argument";
  EXPECT_EQ(relaxedSums(sum + "tt.store %qa, %old : tensor<64x!tt.ptr<f32>>, tensor<64xf32>"), "o")
      << "somebody wants what was there";
  EXPECT_EQ(relaxedSums(scalar), "o");
  EXPECT_EQ(relaxedSums(step("fadd, release, gpu", "pa")), "o");
  EXPECT_EQ(relaxedSums(step("fadd, acq_rel, sys", "pa")), "o");
}

TEST(VolatileStores, AreThoseThatAPollMayRead) {
  const std::string stores = "tt.store %p, %n : !tt.ptr<i32>, i32\n tt.store %q, %n : !tt.ptr<i32>, i32\n";
  EXPECT_EQ(markedStores(stores + "%v = tt.load %p : !tt.ptr<i32> -> i32"), "..");
  EXPECT_EQ(markedStores(stores + "%v = tt.load %p {isVolatile} : !tt.ptr<i32> -> i32"), "!.");
  EXPECT_EQ(markedStores(stores + "%s = arith.select %c, %p, %q : !tt.ptr<i32>\n"
                                  "%v = tt.load %s {isVolatile} : !tt.ptr<i32> -> i32"),
            "!!");
  EXPECT_EQ(markedStores(stores +
                         "%w = arith.extsi %n : i32 to i64\n %s = tt.int_to_ptr %w : i64 -> !tt.ptr<i32>\n"
                         "%v = tt.load %s {isVolatile} : !tt.ptr<i32> -> i32"),
            "!!")
      << "anywhere";
}

bool carriesTiles(Parsed &kernel) {
  bool found = false;
  kernel.module->walk([&](mlir::scf::ForOp loop) {
    for (mlir::Value carried : loop.getRegionIterArgs())
      found |= mlir::isa<mlir::RankedTensorType>(carried.getType());
  });
  return found;
}

TEST(CarriedOffsets, BecomeScalars) {
  Parsed kernel(arguments, addresses + R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = tt.splat %n : i32 -> tensor<64xi32>
    %x, %y = scf.for %t = %c0 to %n step %c1 iter_args(%a = %pa, %o = %i) -> (tensor<64x!tt.ptr<i32>>, tensor<64xi32>) : i32 {
      %v = tt.load %a : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
      %b = tt.addptr %qs, %o : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      tt.store %b, %v : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      %a1 = tt.addptr %a, %one : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      %o1 = arith.addi %o, %step : tensor<64xi32>
      scf.yield %a1, %o1 : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    }
    %v = tt.load %x : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    %w = arith.addi %v, %y : tensor<64xi32>
)" + store("pa", "w"));
  std::vector<int32_t> before = memoryAfter(kernel);
  ASSERT_TRUE(carriesTiles(kernel));
  transforms::splitLoopCarriedOffsets(*kernel.module);
  EXPECT_FALSE(carriesTiles(kernel));
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*kernel.module)));
  EXPECT_EQ(memoryAfter(kernel), before);
}

TEST(CarriedOffsets, StayWhereTheyAreSwapped) {
  Parsed kernel(arguments, addresses + R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x, %y = scf.for %t = %c0 to %n step %c1 iter_args(%a = %pa, %b = %qa)
        -> (tensor<64x!tt.ptr<i32>>, tensor<64x!tt.ptr<i32>>) : i32 {
      %v = tt.load %a : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
      tt.store %b, %v : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      %next = tt.addptr %a, %one : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      scf.yield %b, %next : tensor<64x!tt.ptr<i32>>, tensor<64x!tt.ptr<i32>>
    })");
  std::vector<int32_t> before = memoryAfter(kernel);
  transforms::splitLoopCarriedOffsets(*kernel.module);
  EXPECT_TRUE(carriesTiles(kernel));
  EXPECT_EQ(memoryAfter(kernel), before);
}

} // namespace
