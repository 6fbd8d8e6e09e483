#include "jit/Dispatch.h"
#include "compiler/Literal.h"
#include "jit/Leaf.h"
#include "sema/Session.h"

namespace tegula::jit {

using diag::Kind;

// One call on its way: bound leaves, options, key. Lives on the stack of a launch.
struct Dispatcher::Call {
  llvm::SmallVector<const Leaf *, 24> leaves;
  llvm::SmallVector<KeyLeaf, 25> key;
  compiler::Options options;
  const compiler::Target *target = nullptr;
};

static const Leaf absent;

diag::Location Dispatcher::place() const { return function_->tree->at(function_->definition->nameRange); }

const std::vector<compiler::Parameter> &Dispatcher::parameters() {
  std::call_once(parametersOnce_, [&] {
    parameters_ = compiler::parametersOf(*function_);
    diag::Sink unheard;
    takesPlainParameters_ = compiler::checkParameters(*function_, unheard);
    // Defaults that are plain constants specialize like arguments; the front end knows the rest.
    for (const compiler::Parameter &parameter : parameters_) {
      std::optional<sema::Const> value;
      if (parameter.hasDefault)
        value = compiler::parseLiteral(parameter.defaultText);
      defaults_.push_back(value ? leafOf(*value) : Leaf{});
    }
  });
  return parameters_;
}

void Dispatcher::doNotSpecialize(unsigned parameter, bool onlyAlignment) {
  if (parameter < parameters().size())
    (onlyAlignment ? parameters_[parameter].doNotSpecializeOnAlignment : parameters_[parameter].doNotSpecialize) = true;
}

enum class OptionType { Int, Bool, String, Any };
enum class OptionUse { Language, Device, Ignored };
struct Option {
  std::string_view name;
  OptionType type;
  OptionUse use;
};
static constexpr Option optionTable[] = {
#define OPTION(name, Type, use) {#name, OptionType::Type, OptionUse::use},
#include "jit/Options.def"
#undef OPTION
};

bool Dispatcher::setOption(Call &call, const Argument &argument, diag::Sink &sink) {
  const Option *option = nullptr;
  for (const Option &row : optionTable)
    if (row.name == argument.name)
      option = &row;
  if (!option) {
    sink.report(Kind::KeywordUnknown, place(), {function_->definition->name, argument.name});
    return false;
  }
  if (option->use == OptionUse::Ignored || argument.leaf.kind == LeafKind::None)
    return true;
  auto value = int64_t(argument.leaf.bits);
  bool isNumber = argument.leaf.kind == LeafKind::Int || argument.leaf.kind == LeafKind::Bool;
  auto refuse = [&](std::string_view wanted) {
    sink.report(Kind::OptionValue, place(), {argument.name, describe(argument.leaf), wanted});
    return false;
  };
  if (option->name == "num_warps") {
    if (!isNumber || value < 1 || value > 64 || (value & (value - 1)))
      return refuse("a power of two from 1 to 64");
    call.options.language.numWarps = int(value);
  } else if (option->name == "num_stages") {
    if (!isNumber || value < 0 || value > 64)
      return refuse("an int from 0 to 64");
    call.options.language.numStages = int(value);
  } else if (option->name == "maxnreg") {
    if (!isNumber || value < 1 || value > 1024)
      return refuse("an int from 1 to 1024, or None");
    call.options.targetOptions.maxRegisters = int(value);
  } else if (option->name == "debug") {
    if (!isNumber)
      return refuse("a bool");
    call.options.language.debug = value != 0;
  }
  return true;
}

bool Dispatcher::bind(Call &call, std::span<const Argument> arguments, diag::Sink &sink) {
  const auto &parameters = this->parameters();
  if (!takesPlainParameters_)
    return compiler::checkParameters(*function_, sink);
  call.leaves.assign(parameters.size(), &absent);
  size_t position = 0, positional = 0;
  for (const Argument &argument : arguments)
    positional += argument.name.empty();
  if (positional > parameters.size()) {
    sink.report(Kind::TooManyArguments, place(),
                {function_->definition->name, std::to_string(parameters.size()), std::to_string(positional)});
    return false;
  }
  for (const Argument &argument : arguments) {
    size_t index = position;
    if (argument.name.empty()) {
      ++position;
    } else {
      for (index = 0; index != parameters.size() && parameters[index].name != argument.name;)
        ++index;
      if (index == parameters.size()) {
        if (!setOption(call, argument, sink))
          return false;
        continue;
      }
    }
    if (call.leaves[index]->kind != LeafKind::Absent) {
      sink.report(Kind::ParameterTwice, parameters[index].location,
                  {function_->definition->name, parameters[index].name});
      return false;
    }
    call.leaves[index] = &argument.leaf;
  }
  for (size_t i = 0; i != parameters.size(); ++i)
    if (call.leaves[i]->kind == LeafKind::Absent)
      call.leaves[i] = &defaults_[i];
  return true;
}

bool Dispatcher::specialize(Call &call, diag::Sink &sink) {
  size_t before = sink.errorCount();
  for (size_t i = 0; i != parameters_.size(); ++i)
    if (std::optional<KeyLeaf> key = specializeLeaf(*call.leaves[i], parameters_[i], *function_, sink))
      call.key.push_back(*key);
  if (sink.errorCount() != before)
    return false;
  KeyLeaf options;
  options.kind = uint8_t(call.options.language.numWarps);
  options.dtype = uint8_t(call.options.language.numStages);
  options.flags = call.options.language.debug;
  // Cores have no such number: the same code for all of its values.
  auto registers = uint16_t(call.target->devices ? call.options.targetOptions.maxRegisters : 0);
  memcpy(&options.reserved[1], &registers, sizeof registers);
  // Names of targets and of architectures differ in the first eight bytes.
  options.reserved[0] = uint8_t(call.target - compiler::targets().data());
  const std::string &arch = call.options.targetOptions.arch;
  memcpy(&options.payload, arch.data(), std::min<size_t>(8, arch.size()));
  call.key.push_back(options);
  return true;
}

std::unique_ptr<Kernel> Dispatcher::compile(const Call &call, diag::Sink &sink) {
  sema::Request request{function_, {}, call.options.language};
  for (size_t i = 0; i != parameters_.size(); ++i)
    if (call.key[i].kind != KeyAbsent)
      request.arguments.push_back(specOf(*call.leaves[i], call.key[i], parameters_[i]));
  auto kernel = std::make_unique<Kernel>();
  kernel->compilation = compiler::compile(request, call.options, sink);
  if (!kernel->compilation)
    return nullptr;
  kernel->warnings = sink.all();
  for (const compiler::RuntimeArgument &argument : kernel->compilation->arguments())
    for (unsigned i = 0; i != parameters_.size(); ++i)
      if (parameters_[i].name == argument.name)
        kernel->slots.push_back({i, argument.type.element, argument.type.pointer, argument.written});
  return kernel;
}

Kernel *Dispatcher::find(Call &call, diag::Sink &sink) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(call.key.data()), call.key.size() * sizeof(KeyLeaf));
  {
    std::lock_guard guard(mutex_);
    if (auto known = table_.find(bytes); known != table_.end())
      return known->second.get();
  }
  // Not under the lock: the compiler asks the host. Of two threads the first one's kernel stays.
  std::unique_ptr<Kernel> kernel = compile(call, sink);
  if (!kernel)
    return nullptr;
  std::lock_guard guard(mutex_);
  return table_.try_emplace(bytes, std::move(kernel)).first->second.get();
}

Kernel *Dispatcher::findFor(Call &call, std::span<const Argument> arguments, const runtime::Place &place,
                            diag::Sink &sink) {
  call.target = compiler::chooseTarget(call.options.target, call.options.targetOptions, place.device, sink);
  return call.target && bind(call, arguments, sink) && specialize(call, sink) ? find(call, sink) : nullptr;
}

Kernel *Dispatcher::prepare(std::span<const Argument> arguments, const compiler::Options &options,
                            const runtime::Place &place, diag::Sink &sink) {
  Call call;
  call.options = options;
  return findFor(call, arguments, place, sink);
}

std::optional<runtime::Grid> makeGrid(std::span<const int64_t> grid, diag::Location place, diag::Sink &sink) {
  if (grid.empty() || grid.size() > 3) {
    sink.report(Kind::GridRank, place, {std::to_string(grid.size())});
    return std::nullopt;
  }
  runtime::Grid result;
  for (size_t i = 0; i != grid.size(); ++i) {
    if (grid[i] < 0 || grid[i] > INT32_MAX) {
      sink.report(grid[i] < 0 ? Kind::GridNegative : Kind::GridTooLarge, place,
                  {std::to_string(i), std::to_string(grid[i])});
      return std::nullopt;
    }
    result.extent[i] = grid[i];
  }
  return result;
}

Kernel *Dispatcher::launch(std::span<const Argument> arguments, std::span<const int64_t> grid,
                           const compiler::Options &options, const runtime::Place &place, diag::Sink &sink) {
  std::optional<runtime::Grid> extents = makeGrid(grid, this->place(), sink);
  if (!extents)
    return nullptr;
  Call call;
  call.options = options;
  Kernel *kernel = findFor(call, arguments, place, sink);
  if (!kernel)
    return nullptr;
  llvm::SmallVector<uint64_t, 24> slots;
  for (const Kernel::Slot &slot : kernel->slots) {
    const Leaf &leaf = *call.leaves[slot.parameter];
    if (leaf.readOnly && slot.written) {
      const compiler::Parameter &parameter = parameters_[slot.parameter];
      sink.report(Kind::ArgumentReadOnly, parameter.location, {function_->definition->name, parameter.name});
      return nullptr;
    }
    slots.push_back(slotOf(leaf, slot.dtype, slot.pointer));
  }
  if (extents->extent[0] == 0 || extents->extent[1] == 0 || extents->extent[2] == 0)
    return kernel;
  Status status = kernel->compilation->launch(slots, *extents, place);
  if (status.ok())
    return kernel;
  compiler::reportStatus(status, kernel->compilation->targetName(), this->place(), sink);
  return nullptr;
}

} // namespace tegula::jit
