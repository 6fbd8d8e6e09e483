// Line tables: the kernel's source line on each instruction, with the chain of calls where the
// front end inlined a function. Directives only: profilers read them, and nothing is marked as a
// debug build.
#include "codegen/simt/Emitter.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tegula::simt {

llvm::DIFile *Emitter::file(llvm::StringRef path) {
  return debug_->createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
}

llvm::DISubprogram *Emitter::subprogram(llvm::StringRef name, FileLineColLoc at) {
  unsigned line = at ? at.getLine() : 0;
  std::string path = at ? at.getFilename().str() : "kernel";
  llvm::DISubprogram *&known = scopes_[name.str() + "\n" + path];
  if (!known)
    known = debug_->createFunction(
        unit_, name, name, file(path), line, debug_->createSubroutineType(debug_->getOrCreateTypeArray({})),
        line, llvm::DINode::FlagPrototyped,
        llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  return known;
}

llvm::DILocation *Emitter::debugLocation(Location location) {
  if (auto known = debugLocations_.find(location); known != debugLocations_.end())
    return known->second;
  llvm::DILocation *result = nullptr;
  auto in = [&](FileLineColLoc at, llvm::DISubprogram *scope, llvm::DILocation *caller) {
    return llvm::DILocation::get(builder.getContext(), at.getLine(), at.getColumn(), scope, caller);
  };
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    llvm::DILocation *caller = debugLocation(call.getCaller());
    // The callee has a name of its own only in its file: one scope a file that is inlined.
    if (auto at = call.getCallee()->findInstanceOf<FileLineColLoc>(); at && caller)
      result = in(at, subprogram("inlined", at), caller);
    else
      result = caller;
  } else if (auto at = location->findInstanceOf<FileLineColLoc>()) {
    result = in(at, kernelScope_, nullptr);
  }
  debugLocations_[location] = result;
  return result;
}

void Emitter::place(Location location) {
  if (llvm::DILocation *at = debugLocation(location))
    builder.SetCurrentDebugLocation(at);
}

} // namespace tegula::simt
