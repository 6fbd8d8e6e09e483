// The functions of Core.h as they are, for programs that link them.
#include "compiler/Build.h"
#include "compiler/BuildId.h"
#include "compiler/Builders.h"
#include "compiler/Check.h"
#include "compiler/Core.h"
#include "compiler/Interpreted.h"
#include "compiler/Passes.h"

#include "llvm/Support/raw_ostream.h"

namespace tegula::compiler {
namespace {

class StagesOfTile : public Stages {
public:
  StagesOfTile(const artifact::Artifact &artifact, const TargetOptions &options)
      : artifact_(artifact), options_(options), kept_(*artifact.part(tilePart)) {}

  Result<std::string> text(std::string_view name) override {
    RobustLock::Holder within(kept_.lock);
    Result<mlir::ModuleOp> module = kept_.get(within);
    if (!module)
      return module.status();
    if (name == "ttir") {
      std::string text;
      llvm::raw_string_ostream(text) << *module << "\n";
      return text;
    }
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    return builderOf(*findTarget(artifact_.target)).stage(artifact_, *copy, options_, name);
  }

private:
  const artifact::Artifact &artifact_;
  TargetOptions options_;
  KeptModule kept_;
};

std::unique_ptr<Stages> stagesOf(const artifact::Artifact &artifact, const TargetOptions &options) {
  return std::make_unique<StagesOfTile>(artifact, options);
}

std::unique_ptr<eager::Program> makeProgram(const sema::LanguageOptions &options) {
  return std::make_unique<eager::Program>(options);
}

} // namespace

const Builder &builderOf(const Target &target) {
  static constexpr Builder table[] = {
#define TARGET(Name, name, text) {name, build##Name, passesOf##Name, stageOf##Name},
#include "compiler/Targets.def"
#undef TARGET
#undef ARCH_TARGET
#undef DEVICE_TARGET
  };
  for (const Builder &builder : table)
    if (builder.target == target.name)
      return builder;
  assert(false && "both tables are made of one file");
  __builtin_unreachable();
}

const Core &linkedCore() {
  static constexpr Core table{buildArtifact, rebuildArtifact, stagesOf,     interpreted, passesOf,
                              checkLooks,    check,           findMistakes, makeProgram, identityOfLlvm};
  return table;
}

} // namespace tegula::compiler
