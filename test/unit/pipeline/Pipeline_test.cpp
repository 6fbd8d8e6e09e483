// A kernel verifies behind each pass that changed it, whatever it was that changed.
#include "Parsed.h"
#include "pipeline/Pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tegula;
using namespace tegula::test;

namespace {

using pipeline::Pass;
using pipeline::Unit;

template <typename Op> Op first(Unit &unit) {
  Op found;
  unit.module.walk([&](Op op) { found = found ? found : op; });
  return found;
}

constexpr Pass nothing{"nothing", nullptr, "", [](Unit &) { return Status::success(); }};
constexpr Pass wrongAttribute{"wrong-attribute", nullptr, "", [](Unit &unit) {
                                auto constant = first<mlir::arith::ConstantOp>(unit);
                                constant.setValueAttr(mlir::Builder(constant).getI64IntegerAttr(1));
                                return Status::success();
                              }};
constexpr Pass wrongType{"wrong-type", nullptr, "", [](Unit &unit) {
                           auto sum = first<mlir::arith::AddIOp>(unit);
                           sum.getResult().setType(mlir::Builder(sum).getI64Type());
                           return Status::success();
                         }};
constexpr Pass wrongOrder{"wrong-order", nullptr, "", [](Unit &unit) {
                            auto sum = first<mlir::arith::AddIOp>(unit);
                            sum->moveBefore(&sum->getBlock()->front());
                            return Status::success();
                          }};
constexpr Pass wrongOperand{"wrong-operand", nullptr, "", [](Unit &unit) {
                              auto sum = first<mlir::arith::AddIOp>(unit);
                              sum->setOperand(0, sum.getResult());
                              return Status::success();
                            }};
constexpr Pass noEnd{"no-end", nullptr, "", [](Unit &unit) {
                       first<mlir::arith::AddIOp>(unit)->getBlock()->getTerminator()->erase();
                       return Status::success();
                     }};

TEST(Verification, FindsWhatAPassBreaksBehindPassesThatChangeNothing) {
  for (const Pass *breaks : {&wrongAttribute, &wrongType, &wrongOrder, &wrongOperand, &noEnd}) {
    Parsed kernel("%n: i32", "%one = arith.constant 1 : i32\n%sum = arith.addi %n, %one : i32\n");
    simt::Machine machine;
    Unit unit(machine);
    unit.module = *kernel.module;
    const pipeline::Row rows[] = {
        {"simt", &nothing}, {"simt", &nothing}, {"simt", breaks}, {"simt", &nothing}};
    Status status = pipeline::run(rows, unit, nullptr);
    EXPECT_EQ(status.code, StatusCode::Internal) << breaks->name;
    EXPECT_NE(status.message.find(std::string("`") + breaks->name + "`"), std::string::npos)
        << status.message;
  }
}

TEST(Verification, FindsWhatWasBrokenAheadOfTheFirstPass) {
  Parsed kernel("%n: i32", "%one = arith.constant 1 : i32\n%sum = arith.addi %n, %one : i32\n");
  simt::Machine machine;
  Unit unit(machine);
  unit.module = *kernel.module;
  ASSERT_TRUE(wrongOrder.run(unit).ok());
  const pipeline::Row rows[] = {{"simt", &nothing}};
  EXPECT_EQ(pipeline::run(rows, unit, nullptr).code, StatusCode::Internal);
}

} // namespace
