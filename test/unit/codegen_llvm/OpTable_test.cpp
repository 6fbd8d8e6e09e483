// One row an op: what has no row, or a row that refuses, is refused by name and place; a later row replaces
// an earlier.
#include "codegen/llvm/OpTable.h"

#include "ir/tile/Tile.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace tegula;
using namespace mlir;

namespace {

using Table = codegen::OpTable<int>;

Status checked(const Table &table) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module = parseSourceString<ModuleOp>(
      "tt.func @k(%a: i32) {\n%b = arith.addi %a, %a : i32 loc(\"k.py\":7:3)\n"
      "%c = math.ctpop %b : i32 loc(callsite(\"helper.py\":2:9 at \"k.py\":8:1))\ntt.return\n}\n",
      &context);
  EXPECT_TRUE(module);
  return codegen::checkLegal(*module->getOps<tile::FuncOp>().begin(), "the target",
                             [&](Operation *op) { return table.reasonAgainst(op); });
}

Table withoutPopulation() {
  Table table;
  table.add<arith::AddIOp>(1, nullptr);
  table.add<tile::ReturnOp>(2, nullptr);
  return table;
}

TEST(OpTable, AnOpWithoutARowIsRefusedByNameAndPlace) {
  Status status = checked(withoutPopulation());
  EXPECT_EQ(status.code, StatusCode::Unsupported);
  EXPECT_EQ(status.message, "helper.py:2:9: the target has no lowering of `math.ctpop`");
}

TEST(OpTable, ARowMayRefuseUsesOfItsOp) {
  Table table = withoutPopulation();
  table.add<math::CtPopOp>(3, [](Operation *op) -> std::string {
    return op->getResult(0).getType().isInteger(32) ? "population count of 32 bits" : "";
  });
  EXPECT_EQ(checked(table).message, "helper.py:2:9: the target has no population count of 32 bits");
}

TEST(OpTable, ALaterRowTakesThePlaceOfAnEarlier) {
  Table table = withoutPopulation();
  table.add<math::CtPopOp>(3, [](Operation *) -> std::string { return "anything"; });
  table.add<math::CtPopOp>(4, nullptr);
  EXPECT_TRUE(checked(table).ok());
}

} // namespace
