#include "compiler/Passes.h"
#include "compiler/Builders.h"

#include "pipeline/Passes.h"

namespace tegula::compiler {

static constexpr pipeline::Row simplify[] = {
    {"simplify", &pipeline::canonicalize},
    {"simplify", &pipeline::cse},
};

std::span<const pipeline::Row> simplification() { return simplify; }

Result<PassList> passesOf(const Target &target, const TargetOptions &options) {
  Result<PassList> own = builderOf(target).passes(options);
  if (!own)
    return own.status();
  PassList list{pipeline::passesOf(simplification(), nullptr), own->machine};
  list.passes.insert(list.passes.end(), own->passes.begin(), own->passes.end());
  return list;
}

bool checkLooks(const pipeline::Looks &looks, const Target &target, const TargetOptions &options,
                diag::Sink &sink) {
  if (looks.before.empty() && looks.after.empty())
    return true;
  Result<PassList> list = passesOf(target, options);
  if (!list) {
    reportStatus(list.status(), target.name, {}, sink);
    return false;
  }
  for (const std::string &name : {looks.before, looks.after}) {
    auto isNamed = [&](const pipeline::Pass *pass) { return pass->name == name; };
    if (name.empty() || name == "all" || std::ranges::any_of(list->passes, isNamed))
      continue;
    std::vector<std::string_view> known{"all"};
    for (const pipeline::Pass *pass : list->passes)
      if (std::ranges::find(known, pass->name) == known.end())
        known.push_back(pass->name);
    std::string text;
    for (std::string_view each : known)
      text += (text.empty() ? "" : ", ") + std::string(each);
    reportStatus(
        Status::error(StatusCode::Unsupported, "there is no pass `" + name + "`; hint: its passes: " + text),
        target.name, {}, sink);
    return false;
  }
  return true;
}

} // namespace tegula::compiler
