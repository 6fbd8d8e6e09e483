#include "codegen/llvm/Recovery.h"
#include "base/DeepStack.h"
#include "base/ForkMutex.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <csetjmp>
#include <cstdio>
#include <mutex>
#include <vector>

namespace tegula::codegen {

namespace {

// One run of `recoverably` on this thread; they nest.
struct Scope {
  std::jmp_buf out;
  std::string reason;
};
thread_local Scope *innermost = nullptr;

void leave(void *, const char *reason, bool) {
  if (!innermost) { // not ours: as LLVM does without a handler, which then ends the process
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  innermost->reason = reason;
  std::longjmp(innermost->out, 1);
}

void installOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(leave);
    llvm::install_bad_alloc_error_handler(leave);
  });
}

class Collector : public llvm::DiagnosticHandler {
public:
  explicit Collector(std::string &errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream out(errors_);
      llvm::DiagnosticPrinterRawOStream printer(out);
      out << (errors_.empty() ? "" : "; ");
      info.print(printer);
    }
    return true; // nothing is printed
  }

private:
  std::string &errors_;
};

// Of its own, so that no object of `recoverably` lives across the setjmp. True: `body` came to its end.
[[gnu::noinline]] bool runs(Scope &scope, llvm::function_ref<void()> body) {
  if (setjmp(scope.out))
    return false;
  body();
  return true;
}

// LLVM recurses over chains of operations as deep as the kernel is long (sema/Budgets.h), and the host's
// stack is of any size.
constexpr size_t stackBytes = size_t(512) << 20; // of addresses; memory is taken where it is touched

} // namespace

Status recoverably(llvm::LLVMContext &context, llvm::function_ref<void()> body) {
  installOnce();
  auto errors = std::make_shared<std::string>();
  context.setDiagnosticHandler(std::make_unique<Collector>(*errors));
  Scope scope;
  bool ended = false;
  onStackOf(stackBytes, [&] {
    Scope *outer = std::exchange(innermost, &scope);
    ended = runs(scope, body);
    innermost = outer;
  });
  if (!ended) {
    abandon(errors); // the context keeps its handler
    return Status::error(StatusCode::Internal, "LLVM gave up: " + scope.reason);
  }
  context.setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>());
  return errors->empty() ? Status::success() : Status::error(StatusCode::Unsupported, "LLVM: " + *errors);
}

void abandon(std::shared_ptr<void> state) {
  static auto *mutex = new ForkMutex;
  static auto *kept = new std::vector<std::shared_ptr<void>>;
  std::lock_guard guard(*mutex);
  kept->push_back(std::move(state));
}

} // namespace tegula::codegen
