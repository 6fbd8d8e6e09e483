// The plan as text: one line a step, roots indented under their nest, in the order in
// which a target runs them.
#include "analysis/Nests.h"

#include "ir/tile/Tile.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tegula::analysis {
namespace {

class Printer {
public:
  Printer(Operation *function, const NestPlan &plan, llvm::raw_ostream &out)
      : plan_(plan), out_(out), state_(function) {}

  void block(Block *block, unsigned depth) {
    for (const NestStep &step : plan_.steps(block)) {
      out_.indent(2 * depth);
      switch (step.kind) {
      case StepKind::Nest: nest(step.nest, depth); break;
      case StepKind::Scalar: line("scalar", step.op); break;
      case StepKind::Dot: line("dot", step.op); break;
      case StepKind::Whole: line("whole", step.op); break;
      case StepKind::Yield: line("end", step.op); break;
      case StepKind::Region:
        line("region", step.op);
        for (Region &region : step.op->getRegions())
          for (Block &inner : region)
            this->block(&inner, depth + 1);
        break;
      }
    }
  }

private:
  void name(Value value) {
    value.printAsOperand(out_, state_);
    if (const Buffer *buffer = plan_.buffer(value))
      out_ << " @" << buffer->offset;
  }

  void line(StringRef kind, Operation *op) {
    out_ << kind << ' ' << op->getName().getStringRef();
    for (Value result : op->getResults()) {
      out_ << ' ';
      name(result);
    }
    out_ << '\n';
  }

  void nest(const Nest &nest, unsigned depth) {
    out_ << "nest [";
    for (auto [d, extent] : llvm::enumerate(nest.shape))
      out_ << (d ? "," : "") << extent << (d == nest.lane ? "*" : "") << (nest.inner == d ? "+" : "");
    out_ << "]\n";
    for (const Root &root : nest.roots) {
      out_.indent(2 * depth + 2);
      if (root.kind == RootKind::Store) {
        out_ << "store ";
        name(root.op->getOperand(1));
      } else if (root.kind == RootKind::Buffer) {
        out_ << "buffer ";
        name(root.value);
      } else {
        out_ << "reduce ";
        name(root.op->getResult(0));
      }
      out_ << '\n';
    }
  }

  const NestPlan &plan_;
  llvm::raw_ostream &out_;
  AsmState state_;
};

} // namespace

std::string print(Operation *function, const NestPlan &plan) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "scratch " << plan.scratchBytes() << " bytes\n";
  Printer(function, plan, out).block(&function->getRegion(0).front(), 0);
  return text;
}

} // namespace tegula::analysis
