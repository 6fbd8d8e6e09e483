// Checks where the warps meet: each case is a short program; the answer is its accesses in order, `|` for a
// barrier that the pass put there, braces around what a loop or branch holds.
#include "Parsed.h"
#include "convert/TileToSimt.h"
#include "ir/simt/Simt.h"
#include "transforms/SharedMemory.h"

using namespace tegula;
using namespace tegula::test;

namespace {

// Four warps, tiles of 512 elements: each thread has elements of its own. %n0, %m0: of 64, which threads hold
// copies of.
const std::string arguments = "%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %c: i1, %k: i32";
const std::string addresses = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32>
  %j = tt.make_range {start = 1 : i32, end = 513 : i32} : tensor<512xi32>
  %v = tt.make_range {start = 2 : i32, end = 514 : i32} : tensor<512xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %qs = tt.splat %q : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %p0 = tt.addptr %ps, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %p1 = tt.addptr %ps, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %q0 = tt.addptr %qs, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %q1 = tt.addptr %qs, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %ni = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %np = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %nq = tt.splat %q : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %n0 = tt.addptr %np, %ni : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %m0 = tt.addptr %nq, %ni : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)";

std::string freshName() {
  static int count = 0;
  return "%x" + std::to_string(++count);
}

std::string load(const std::string &address) {
  return "  " + freshName() + " = tt.load %" + address + " : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>\n";
}
std::string store(const std::string &address) {
  return "  tt.store %" + address + ", %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32>\n";
}
std::string update(const std::string &kind, const std::string &address) {
  return "  " + freshName() + " = tt.atomic_rmw " + kind + ", relaxed, gpu, %" + address +
         ", %v : tensor<512x!tt.ptr<i32>>, tensor<512xi32> -> tensor<512xi32>\n";
}

struct Lowered {
  explicit Lowered(const std::string &body) : kernel(arguments, addresses + body) {
    if (!kernel.module)
      return;
    simt::loadDialects(kernel.context);
    std::vector<diag::Remark> notes;
    convert::tileToSimt(*kernel.module, {4, 1, simt::Machine()}, notes);
    EXPECT_TRUE(transforms::allocateShared(*kernel.module, 1 << 16, {}).ok());
    transforms::insertBarriers(*kernel.module);
  }

  std::string text() { return kernel.module ? textOf(kernel.function.getBody().front()) : ""; }

  static std::string textOf(mlir::Block &block) {
    std::string text;
    for (mlir::Operation &op : block) {
      if (mlir::isa<simt::BarrierOp>(op))
        text += "| ";
      else if (mlir::isa<tile::BarrierOp>(op))
        text += "barrier ";
      else if (mlir::isa<tile::LoadOp>(op))
        text += "load ";
      else if (mlir::isa<tile::StoreOp>(op))
        text += "store ";
      else if (mlir::isa<tile::AtomicRMWOp>(op))
        text += "atomic ";
      else if (mlir::isa<mlir::scf::ForOp, mlir::scf::IfOp, mlir::scf::WhileOp>(op))
        for (mlir::Region &region : op.getRegions())
          text += region.empty() ? "" : "{ " + textOf(region.front()) + "} ";
    }
    return text;
  }

  Parsed kernel;
};

std::string barriersOf(const std::string &body) {
  std::string text = Lowered(body).text();
  return text.empty() ? text : text.substr(0, text.size() - 1);
}

TEST(Barriers, NoneBetweenAThreadsOwnElements) {
  EXPECT_EQ(barriersOf(load("p0") + store("p0") + load("p0")), "load store load");
  EXPECT_EQ(barriersOf(store("p0") + store("p0")), "store store");
}

TEST(Barriers, BetweenNeighboursOfOneArgument) {
  EXPECT_EQ(barriersOf(load("p0") + store("p1")), "load | store");
  EXPECT_EQ(barriersOf(store("p0") + load("p1")), "store | load");
  EXPECT_EQ(barriersOf(store("p0") + store("p1")), "store | store");
  EXPECT_EQ(barriersOf(load("p0") + load("p1")), "load load");
}

TEST(Barriers, NoneBetweenArgumentsOfWholeTiles) {
  EXPECT_EQ(barriersOf(load("p0") + store("q1") + load("p1")), "load store load");
}

TEST(Barriers, BetweenArgumentsWhereItMattersWhatCopiesHold) {
  // A copy that is loaded becomes a part of the address of another thread.
  EXPECT_EQ(barriersOf(R"(
    %x = tt.load %n0 : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    %at = tt.addptr %m0, %x : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    tt.store %at, %x : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)"),
            "load | store");
  // It is stored where the thread that loads it stores it: nobody else has to read it.
  EXPECT_EQ(barriersOf(R"(
    %x = tt.load %n0 : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    %twice = arith.addi %x, %x : tensor<64xi32>
    tt.store %m0, %twice : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)"),
            "load store");
}

TEST(Barriers, OneIsEnoughForAll) {
  EXPECT_EQ(barriersOf(load("p0") + load("q0") + store("p1") + store("q1")), "load load | store store");
  EXPECT_EQ(barriersOf(load("p0") + "  tt.barrier\n" + store("p1")), "load barrier store");
}

TEST(Barriers, BehindBranchesThatMayHaveAccessed) {
  EXPECT_EQ(barriersOf("scf.if %c {\n" + store("p0") + "}\n" + load("p1")), "{ store } | load");
  EXPECT_EQ(barriersOf("scf.if %c {\n" + store("p0") + "} else {\n  tt.barrier\n}\n" + load("p1")),
            "{ store } { barrier } | load");
  EXPECT_EQ(barriersOf(store("p0") + "scf.if %c {\n  tt.barrier\n}\n" + load("p1")),
            "store { barrier } | load")
      << "the other way leads past the barrier";
}

TEST(Barriers, BetweenTripsOfALoop) {
  const std::string loop = "scf.for %t = %c0 to %k step %c1 : i32 {\n";
  const std::string loop2 = "scf.for %t2 = %c0 to %k step %c1 : i32 {\n";
  EXPECT_EQ(barriersOf(loop + load("p0") + store("p0") + "}"), "{ load store }")
      << "own elements, trip after trip";
  EXPECT_EQ(barriersOf(loop + load("p1") + store("p0") + "}"), "{ | load | store }");
  EXPECT_EQ(barriersOf(loop + store("p0") + "}\n" + load("p1")), "{ store } | load");
  EXPECT_EQ(barriersOf(store("p0") + loop + load("p1") + "}"), "store | { load }")
      << "one ahead of the loop is enough";
  EXPECT_EQ(barriersOf(store("p0") + loop + load("p1") + store("p0") + "}"), "store { | load | store }");
  EXPECT_EQ(barriersOf(store("p0") + loop + loop2 + load("p1") + "}\n}"), "store | { { load } }");
}

TEST(Barriers, NoneBetweenTripsThatAreApart) {
  // A tile of each trip, `step` elements behind the one before.
  auto inPlace = [](const std::string &step, const std::string &accesses) {
    return barriersOf("  %s = arith.constant " + step +
                      " : i32\n"
                      "  scf.for %o = %c0 to %k step %c1 : i32 {\n"
                      "  scf.for %t = %c0 to %k step %s : i32 {\n"
                      "  %ts = tt.splat %t : i32 -> tensor<512xi32>\n"
                      "  %ti = arith.addi %ts, %i : tensor<512xi32>\n"
                      "  %t0 = tt.addptr %ps, %ti : tensor<512x!tt.ptr<i32>>, tensor<512xi32>\n"
                      "  %tj = arith.addi %ts, %j : tensor<512xi32>\n"
                      "  %t1 = tt.addptr %ps, %tj : tensor<512x!tt.ptr<i32>>, tensor<512xi32>\n" +
                      accesses + "}\n}");
  };
  EXPECT_EQ(inPlace("512", load("t0") + store("t0")), "{ { load store } }");
  EXPECT_EQ(inPlace("511", load("t0") + store("t0")), "{ { | load store } }")
      << "one element is of two trips";
  EXPECT_EQ(inPlace("1024", load("t1") + store("t0")), "{ { | load | store } }") << "they meet in one trip";
}

TEST(Barriers, NoneBetweenTilesThatAreApart) {
  // A tile of 16 rows of 32, as far apart as `row`, and one `by` elements behind it.
  auto rows = [](const std::string &row, const std::string &by) {
    return barriersOf(R"(
      %r = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
      %a = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
      %rs = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
      %as = tt.expand_dims %a {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
      %row = arith.constant dense<)" +
                      row + R"(> : tensor<16x1xi32>
      %by = arith.constant dense<)" +
                      by + R"(> : tensor<16x32xi32>
      %rr = arith.muli %rs, %row : tensor<16x1xi32>
      %rb = tt.broadcast %rr : tensor<16x1xi32> -> tensor<16x32xi32>
      %ab = tt.broadcast %as : tensor<1x32xi32> -> tensor<16x32xi32>
      %at = arith.addi %rb, %ab : tensor<16x32xi32>
      %p2 = tt.splat %p : !tt.ptr<i32> -> tensor<16x32x!tt.ptr<i32>>
      %f = tt.addptr %p2, %at : tensor<16x32x!tt.ptr<i32>>, tensor<16x32xi32>
      %g = tt.addptr %f, %by : tensor<16x32x!tt.ptr<i32>>, tensor<16x32xi32>
      %x = tt.load %g : tensor<16x32x!tt.ptr<i32>> -> tensor<16x32xi32>
      tt.store %f, %x : tensor<16x32x!tt.ptr<i32>>, tensor<16x32xi32>)");
  };
  EXPECT_EQ(rows("64", "32"), "load store") << "halves of rows";
  EXPECT_EQ(rows("64", "-32"), "load store");
  EXPECT_EQ(rows("64", "31"), "load | store");
  EXPECT_EQ(rows("64", "33"), "load | store") << "into the next row";
  EXPECT_EQ(rows("64", "992"), "load store") << "16 rows on";
  EXPECT_EQ(rows("32", "512"), "load store");
  EXPECT_EQ(rows("32", "511"), "load | store");
}

TEST(Barriers, BehindTheLastReadOfACondition) {
  EXPECT_EQ(barriersOf(R"(
    scf.while : () -> () {
      %x = tt.load %p : !tt.ptr<i32> -> i32
      %more = arith.cmpi slt, %x, %k : i32
      scf.condition(%more)
    } do {
      tt.barrier
      scf.yield
    }
    tt.store %p, %k : !tt.ptr<i32>, i32)"),
            "{ load } { barrier } | store");
}

TEST(Barriers, WhereALoopSwapsPointers) {
  EXPECT_EQ(barriersOf(R"(
    %x, %y = scf.for %t = %c0 to %k step %c1 iter_args(%src = %p1, %dst = %q0)
        -> (tensor<512x!tt.ptr<i32>>, tensor<512x!tt.ptr<i32>>) : i32 {
      %l = tt.load %src : tensor<512x!tt.ptr<i32>> -> tensor<512xi32>
      tt.store %dst, %l : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
      scf.yield %dst, %src : tensor<512x!tt.ptr<i32>>, tensor<512x!tt.ptr<i32>>
    })"),
            "{ | load | store }");
}

TEST(Barriers, OfUpdatesWhoseOrderIsNoMatter) {
  EXPECT_EQ(barriersOf(update("add", "p0") + update("add", "p1")), "atomic atomic")
      << "of one kind, what was there unread";
  EXPECT_EQ(barriersOf(update("add", "p0") + update("max", "p1")), "atomic | atomic");
  EXPECT_EQ(barriersOf(update("add", "p0") + load("p1")), "atomic | load");
  EXPECT_EQ(barriersOf(load("p0") + update("add", "p1")), "load | atomic");
}

TEST(Barriers, AroundReleaseAndAcquire) {
  auto around = [](const std::string &order) {
    return barriersOf(store("p0") + "  " + freshName() + " = tt.atomic_rmw add, " + order +
                      ", gpu, %q, %k : !tt.ptr<i32>, i32 -> i32\n" + load("p0"));
  };
  EXPECT_EQ(around("release"), "store | atomic load");
  EXPECT_EQ(around("acquire"), "store atomic | load");
  EXPECT_EQ(around("acq_rel"), "store | atomic | load");
  EXPECT_EQ(around("relaxed"), "store atomic load");
}

TEST(Barriers, AroundPolls) {
  const std::string poll =
      "  %w = tt.load %q {isVolatile} : !tt.ptr<i32> -> i32\n  tt.store %q, %w : !tt.ptr<i32>, i32\n";
  EXPECT_EQ(barriersOf(poll), "load store") << "one thread loads, all meet when it tells them";
  EXPECT_EQ(barriersOf("scf.for %t = %c0 to %k step %c1 : i32 {\n" + poll + "}"), "{ | load store }")
      << "what was told must be read before it is overwritten";
}

TEST(Barriers, AreThereAlreadyTheSecondTime) {
  Lowered lowered(load("p0") + store("p1") + "scf.for %t = %c0 to %k step %c1 : i32 {\n" + load("p0") +
                  store("p1") + "}");
  std::string once = lowered.text();
  transforms::insertBarriers(*lowered.kernel.module);
  EXPECT_EQ(lowered.text(), once);
}

} // namespace
