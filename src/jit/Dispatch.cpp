#include "jit/Dispatch.h"
#include "base/Environment.h"
#include "compiler/Alone.h"
#include "compiler/KernelCache.h"
#include "compiler/Literal.h"
#include "jit/Leaf.h"
#include "jit/Libraries.h"
#include "sema/Const.h"
#include "sema/Session.h"

#include <cstdio>

namespace tegula::jit {

using diag::Kind;

// One call on its way: bound leaves, options, key. Lives on the stack of a launch.
struct Dispatcher::Call {
  llvm::SmallVector<const Leaf *, 24> leaves; // one a parameter
  Leaf rest;                                  // what `*args` takes
  llvm::SmallVector<KeyLeaf, 25> key;
  // In step with `key`, which has the elements of tuples behind each tuple: what they are, and of which
  // parameter.
  llvm::SmallVector<std::pair<const Leaf *, unsigned>, 24> parts;
  compiler::CompileOptions options;
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
  known_.forget();
  if (parameter < parameters().size())
    (onlyAlignment ? parameters_[parameter].doNotSpecializeOnAlignment
                   : parameters_[parameter].doNotSpecialize) = true;
}

bool Dispatcher::annotate(unsigned parameter, std::string_view annotation) {
  if (parameter >= parameters().size())
    return false;
  compiler::Parameter annotated = parameters_[parameter];
  if (!compiler::applyAnnotation(annotation, annotated))
    return false;
  parameters_[parameter] = std::move(annotated);
  known_.forget();
  return true;
}

enum class OptionUse { Obeyed, Hint, Fixed };
struct Option {
  std::string_view name;
  OptionUse use;
  std::string_view takes;
};
static constexpr Option optionTable[] = {
#define OPTION(name, use, text) {#name, OptionUse::use, text},
#include "jit/Options.def"
#undef OPTION
};

// False, 0, "", (): of an option that no target obeys.
static bool asksForNothing(const Leaf &leaf) {
  if (leaf.kind == LeafKind::Bool || leaf.kind == LeafKind::Int)
    return leaf.bits == 0;
  if (leaf.kind == LeafKind::Tuple)
    return leaf.tuple->elements.empty();
  if (leaf.kind != LeafKind::Constant)
    return false;
  auto *text = std::get_if<std::string>(&leaf.constant->value);
  return text && text->empty();
}

static std::optional<sema::DotPrecision> dotPrecisionOf(const Leaf &leaf) {
  using sema::DotPrecision;
  auto *text = leaf.kind == LeafKind::Constant ? std::get_if<std::string>(&leaf.constant->value) : nullptr;
  constexpr std::pair<std::string_view, DotPrecision> words[] = {{"tf32", DotPrecision::TF32},
                                                                 {"tf32x3", DotPrecision::TF32x3},
                                                                 {"ieee", DotPrecision::IEEE},
                                                                 {"bf16x3", DotPrecision::BF16x3},
                                                                 {"bf16x6", DotPrecision::BF16x6}};
  for (auto [word, precision] : words)
    if (text && *text == word)
      return precision;
  return std::nullopt;
}

// False: the option does not take this value.
static bool obey(compiler::CompileOptions &options, std::string_view name, const Leaf &leaf) {
  compiler::TargetOptions &target = options.targetOptions;
  auto value = int64_t(leaf.bits);
  if (name == "default_dot_input_precision") {
    std::optional<sema::DotPrecision> precision = dotPrecisionOf(leaf);
    options.language.dotPrecision = precision.value_or(sema::DotPrecision::TF32);
    return precision.has_value();
  }
  if (leaf.kind != LeafKind::Int && leaf.kind != LeafKind::Bool)
    return false;
  if (name == "num_warps") {
    options.language.numWarps = int(value);
    return value >= 1 && value <= 64 && (value & (value - 1)) == 0;
  }
  if (name == "num_stages") {
    options.language.numStages = int(value);
    return value >= 0 && value <= sema::maxStages;
  }
  if (name == "maxnreg") {
    target.maxRegisters = int(value);
    return value >= 1 && value <= 1024;
  }
  if (name == "debug")
    options.language.debug = value != 0;
  else if (name == "sanitize_overflow")
    options.language.sanitizesOverflow = value != 0;
  else if (name == "enable_fp_fusion")
    target.fusesMultiplyAdd = value != 0;
  else if (name == "launch_cooperative_grid")
    target.isCooperative = value != 0;
  else if (name == "launch_pdl")
    target.launchesEarly = value != 0;
  else if (name == "closed")
    options.isClosed = value != 0;
  return true;
}

// Of those whose value is a file; nullopt: it is none of them.
static std::optional<Status> setFile(compiler::TargetOptions &options, std::string_view name,
                                     const Leaf &path) {
  constexpr std::string_view library = "extern_libs.";
  if (name == "ir_override") {
    auto given = givenStageOf(path);
    if (given)
      options.given = std::move(*given);
    return given ? Status() : given.status();
  }
  if (!name.starts_with(library))
    return std::nullopt;
  auto read = libraryOf(std::string(name.substr(library.size())), path);
  if (read)
    options.libraries.push_back(std::move(*read));
  return read ? Status() : read.status();
}

Status setOption(compiler::CompileOptions &options, std::string_view name, std::string_view value) {
  const Status wrong = Status::error(StatusCode::Launch, "");
  std::optional<sema::Const> constant = compiler::parseLiteral(value);
  if (!constant)
    return wrong;
  const Leaf leaf = leafOf(*constant);
  if (std::optional<Status> status = setFile(options.targetOptions, name, leaf))
    return *status;
  for (const Option &row : optionTable)
    // A dict is no text; the target names the architecture.
    if (row.name == name && row.use == OptionUse::Obeyed && name != "extern_libs" && name != "arch")
      return obey(options, name, leaf) ? Status() : wrong;
  return wrong;
}

// extern_libs; false after a diagnostic.
bool Dispatcher::setLibraries(Call &call, const Leaf &leaf, std::string_view takes, diag::Sink &sink) {
  Result<codegen::ExternLibraries> libraries = librariesOf(leaf);
  if (libraries) {
    call.options.targetOptions.libraries = std::move(*libraries);
    return true;
  }
  const std::string &reason = libraries.status().message;
  sink.report(Kind::OptionValue, place(),
              {"extern_libs", reason.empty() ? describe(leaf) : reason, std::string(takes)});
  return false;
}

// ir_override; false after a diagnostic.
bool Dispatcher::setGivenStage(Call &call, const Leaf &leaf, std::string_view takes, diag::Sink &sink) {
  auto given = givenStageOf(leaf);
  if (given) {
    call.options.targetOptions.given = std::move(*given);
    return true;
  }
  const std::string &reason = given.status().message;
  sink.report(Kind::OptionValue, place(),
              {"ir_override", reason.empty() ? describe(leaf) : reason, std::string(takes)});
  return false;
}

// arch; false after a diagnostic.
bool Dispatcher::setArch(Call &call, const Leaf &leaf, std::string_view takes, diag::Sink &sink) {
  if (!call.target) // nothing is compiled
    return true;
  auto *text = leaf.kind == LeafKind::Constant ? std::get_if<std::string>(&leaf.constant->value) : nullptr;
  std::optional<std::string> arch = text ? compiler::archFor(*call.target, *text) : std::nullopt;
  if (!arch) {
    sink.report(Kind::OptionValue, place(), {"arch", describe(leaf), std::string(takes)});
    return false;
  }
  call.options.targetOptions.arch = std::move(*arch);
  return true;
}

bool Dispatcher::setOption(Call &call, const Argument &argument, diag::Sink &sink) {
  const Option *option = nullptr;
  for (const Option &row : optionTable)
    if (row.name == argument.name)
      option = &row;
  if (!option) {
    sink.report(Kind::KeywordUnknown, place(),
                {function_->definition->name, argument.name, compiler::listOf(parameters())});
    return false;
  }
  const Leaf &leaf = argument.leaf;
  if (option->use == OptionUse::Hint || leaf.kind == LeafKind::None)
    return true;
  if (option->name == "extern_libs")
    return setLibraries(call, leaf, option->takes, sink);
  if (option->name == "ir_override")
    return setGivenStage(call, leaf, option->takes, sink);
  if (option->name == "arch")
    return setArch(call, leaf, option->takes, sink);
  if (option->use == OptionUse::Fixed ? asksForNothing(leaf) : obey(call.options, option->name, leaf))
    return true;
  if (option->name == "num_warps" && leaf.kind == LeafKind::Int && int64_t(leaf.bits) > 64 &&
      (leaf.bits & (leaf.bits - 1)) == 0)
    return compiler::reportTooManyWarps(int64_t(leaf.bits), call.options.target, place(), sink), false;
  sink.report(Kind::OptionValue, place(), {argument.name, describe(leaf), option->takes});
  return false;
}

// The parameters ahead of `*args` and of those that are given by name.
static size_t countByPosition(const std::vector<compiler::Parameter> &parameters) {
  return size_t(llvm::find_if(parameters,
                              [](const compiler::Parameter &parameter) {
                                return parameter.isVariadic || parameter.isKeywordOnly;
                              }) -
                parameters.begin());
}

bool Dispatcher::bind(Call &call, std::span<const Argument> arguments, diag::Sink &sink) {
  const auto &parameters = this->parameters();
  if (!takesPlainParameters_)
    return compiler::checkParameters(*function_, sink);
  call.leaves.assign(parameters.size(), &absent);
  size_t position = 0, positional = 0;
  for (const Argument &argument : arguments)
    positional += argument.name.empty();
  const size_t byPosition = countByPosition(parameters);
  const bool takesRest = byPosition != parameters.size() && parameters[byPosition].isVariadic;
  auto rest = takesRest ? std::make_shared<LeafTuple>() : nullptr;
  if (positional > byPosition && !takesRest) {
    sink.report(Kind::TooManyArguments, place(),
                {function_->definition->name, std::to_string(byPosition), std::to_string(positional)})
        .hint = byPosition == parameters.size()
                    ? "its parameters: " + compiler::listOf(parameters)
                    : "`" + parameters[byPosition].name + "`, behind the `*`, is given by its name";
    return false;
  }
  for (const Argument &argument : arguments) {
    size_t index = position;
    if (argument.name.empty()) {
      if (position++ >= byPosition) {
        rest->elements.push_back(argument.leaf);
        continue;
      }
    } else {
      for (index = 0; index != parameters.size() &&
                      (parameters[index].name != argument.name || parameters[index].isVariadic);)
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
  if (takesRest) {
    call.rest.kind = LeafKind::Tuple;
    call.rest.tuple = std::move(rest);
    call.leaves[byPosition] = &call.rest;
  }
  for (size_t i = 0; i != parameters.size(); ++i)
    if (call.leaves[i]->kind == LeafKind::Absent)
      call.leaves[i] = &defaults_[i];
  return true;
}

void Dispatcher::specialize(Call &call, const Leaf &leaf, const compiler::Parameter &parameter,
                            unsigned index, diag::Sink &sink) {
  call.parts.push_back({&leaf, index});
  if (!isTakenApart(leaf, parameter)) {
    if (std::optional<KeyLeaf> key = specializeLeaf(leaf, parameter, *function_, sink))
      call.key.push_back(*key);
    return;
  }
  call.key.push_back(tupleKey(*leaf.tuple));
  for (size_t i = 0; i != leaf.tuple->elements.size(); ++i)
    specialize(call, leaf.tuple->elements[i], elementOf(parameter, i), index, sink);
}

bool Dispatcher::specialize(Call &call, diag::Sink &sink) {
  size_t before = sink.errorCount();
  for (unsigned i = 0; i != parameters_.size(); ++i)
    specialize(call, *call.leaves[i], parameters_[i], i, sink);
  if (sink.errorCount() != before)
    return false;
  KeyLeaf options;
  options.kind = uint8_t(call.options.language.numWarps);
  options.dtype = uint8_t(call.options.language.numStages);
  options.flags =
      uint8_t(call.options.language.debug | call.options.targetOptions.fusesMultiplyAdd << 1 |
              call.options.targetOptions.isCooperative << 2 | call.options.language.sanitizesOverflow << 3 |
              call.options.targetOptions.launchesEarly << 4);
  // Cores have no such number: the same code for all of its values.
  auto registers = uint16_t(call.target->devices ? call.options.targetOptions.maxRegisters : 0);
  memcpy(&options.reserved[1], &registers, sizeof registers);
  options.reserved[3] = uint8_t(call.options.language.dotPrecision);
  // Names of targets and of architectures differ in the first eight bytes.
  options.reserved[0] = uint8_t(call.target - compiler::targets().data());
  const std::string &arch = call.options.targetOptions.arch;
  memcpy(&options.payload, arch.data(), std::min<size_t>(8, arch.size()));
  call.key.push_back(options);
  for (const auto &library : call.options.targetOptions.libraries) {
    KeyLeaf leaf;
    leaf.kind = KeyConstant;
    leaf.payload = uint64_t(reinterpret_cast<uintptr_t>(library.get()));
    call.key.push_back(leaf);
  }
  if (const auto &given = call.options.targetOptions.given) {
    KeyLeaf leaf;
    leaf.kind = KeyConstant;
    leaf.flags = 1; // no library
    leaf.payload = uint64_t(reinterpret_cast<uintptr_t>(given.get()));
    call.key.push_back(leaf);
  }
  return true;
}

// Says what the compiler is told of the argument whose key is the one at `at`, which moves on behind it.
// `names` gets the name of each part.
static sema::ArgumentSpec takeSpec(llvm::ArrayRef<std::pair<const Leaf *, unsigned>> parts,
                                   llvm::ArrayRef<KeyLeaf> key, const compiler::Parameter &parameter,
                                   size_t &at, std::vector<std::string> &names) {
  const Leaf &leaf = *parts[at].first;
  const KeyLeaf &own = key[at++];
  names.push_back(parameter.name);
  if (own.kind != KeyTuple)
    return specOf(leaf, own, parameter);
  sema::ArgumentSpec spec{parameter.name, sema::Const{}, 1, std::vector<sema::ArgumentSpec>(),
                          leaf.tuple->type};
  for (size_t i = 0; i != leaf.tuple->elements.size(); ++i)
    spec.elements->push_back(takeSpec(parts, key, elementOf(parameter, i), at, names));
  return spec;
}

// The key has the identities of functions among the constants.
static void keepConstants(sema::HostRecord &record, llvm::ArrayRef<sema::ArgumentSpec> specs) {
  for (const sema::ArgumentSpec &spec : specs) {
    if (auto *constant = std::get_if<sema::Const>(&spec.value))
      record.keep(*constant);
    if (spec.elements)
      keepConstants(record, *spec.elements);
  }
}

sema::Request Dispatcher::requestOf(const Call &call, sema::HostRecord *record,
                                    std::vector<std::string> &names) const {
  sema::Request request{function_, {}, call.options.language, record};
  for (size_t i = 0, at = 0; i != parameters_.size(); ++i) {
    bool isAbsent = call.key[at].kind == KeyAbsent;
    sema::ArgumentSpec spec = takeSpec(call.parts, call.key, parameters_[i], at, names);
    if (!isAbsent)
      request.arguments.push_back(std::move(spec));
  }
  return request;
}

std::optional<sema::Request> Dispatcher::requestFor(std::span<const Argument> arguments,
                                                    const compiler::CompileOptions &options,
                                                    diag::Sink &sink) {
  Call call;
  call.options = options;
  call.target = compiler::requireTarget(options.target, sink);
  if (!call.target || !bind(call, arguments, sink) || !specialize(call, sink))
    return std::nullopt;
  std::vector<std::string> names;
  return requestOf(call, nullptr, names);
}

// TEGULA_PRINT_PASSES: on, or the name of this kernel?
static bool printsPasses(std::string_view kernel) {
  for (Variable variable : {Variable::PrintPasses, Variable::MlirEnableDump})
    if (std::string_view text = valueOf(variable); text == "1" || text == kernel)
      return true;
  return false;
}

static void printAheadOfPasses(pipeline::Looks &looks) {
  looks.before = "all";
  looks.show = [](const std::string &heading, const std::string &text) {
    std::string both = heading + text + "\n";
    std::fwrite(both.data(), 1, both.size(), stderr);
  };
}

static sema::Const rowOf(const sema::ArgumentSpec &argument) {
  sema::Const type{std::string("constexpr")}, value{sema::NoneValue{}};
  if (argument.elements) {
    sema::ConstTuple rows;
    for (const sema::ArgumentSpec &element : *argument.elements)
      rows.push_back(rowOf(element));
    type = sema::makeTuple(std::move(rows));
  } else if (auto *constant = std::get_if<sema::Const>(&argument.value)) {
    value = *constant;
  } else {
    const auto &runTime = std::get<sema::Type>(argument.value);
    type = {(runTime.pointer ? runTime.isConst ? "*k" : "*" : "") + std::string(name(runTime.element))};
  }
  return sema::makeTuple(std::vector{sema::Const{argument.name}, type, value});
}

bool Dispatcher::nameKernel(sema::Request &request, diag::Sink &sink) const {
  if (!name_)
    return true;
  sema::ConstTuple rows;
  for (const sema::ArgumentSpec &argument : request.arguments)
    rows.push_back(rowOf(argument));
  Result<std::string> name = name_(sema::makeTuple(std::move(rows)));
  if (!name) {
    sink.report(
        Kind::HostMisuse, place(),
        {"`repr` of the kernel `" + function_->definition->name + "` gave no name: " + name.status().message,
         "return a str that is not empty"});
    return false;
  }
  request.name = std::move(*name);
  return true;
}

KernelRef Dispatcher::compile(const Call &call, diag::Sink &sink) {
  compiler::CompileOptions options = call.options;
  if (printsPasses(function_->definition->name))
    printAheadOfPasses(options.looks);
  auto kernel = llvm::makeIntrusiveRefCnt<SpecializedKernel>();
  std::vector<std::string> names;
  sema::Request request = requestOf(call, &kernel->record, names);
  keepConstants(kernel->record, request.arguments);
  if (!nameKernel(request, sink))
    return nullptr;
  kernel->compilation = compiler::findOrCompile(request, options, sink);
  if (!kernel->compilation)
    return nullptr;
  kernel->record.seal();
  kernel->warnings = sink.all();
  for (const compiler::RuntimeArgument &argument : kernel->compilation->arguments())
    for (unsigned i = 0; i != names.size(); ++i)
      if (names[i] == argument.name)
        kernel->slots.push_back({i, argument.type.element, argument.type.pointer, argument.written});
  return kernel;
}

KernelRef Dispatcher::find(Call &call, diag::Sink &sink) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(call.key.data()), call.key.size() * sizeof(KeyLeaf));
  // Asked before the compile: what changes while it runs is looked at again at the next call.
  uint64_t version = function_->env->version();
  if (KernelRef known = table_.find(bytes, version))
    return known;
  KernelRef kernel = compile(call, sink);
  return kernel ? table_.insert(bytes, version, std::move(kernel)) : nullptr;
}

// `grid` null: nobody knows it yet. It is no part of the key: a kernel has the codes for all launches, of
// which the one for this is compiled first.
KernelRef Dispatcher::findFor(Call &call, std::span<const Argument> arguments, const runtime::Grid *grid,
                              const runtime::Place &place, diag::Sink &sink) {
  compiler::TargetOptions &options = call.options.targetOptions;
  call.target = compiler::chooseTarget(call.options.target, options, place.device, sink);
  if (!call.target || !bind(call, arguments, sink) || !specialize(call, sink))
    return nullptr;
  options.isAlone = grid && compiler::runsAlone(*call.target, *grid, place, compiler::mostAlone());
  return find(call, sink);
}

KernelRef Dispatcher::prepare(std::span<const Argument> arguments, const compiler::CompileOptions &options,
                              const runtime::Place &place, diag::Sink &sink, const runtime::Grid *grid) {
  Call call;
  call.options = options;
  KernelRef kernel = findFor(call, arguments, grid, place, sink);
  if (kernel && grid)
    kernel->compilation->prepare(*grid, place);
  return kernel;
}

static std::optional<TypedLeaf> typedLeaf(const Leaf &leaf, const compiler::Parameter &parameter,
                                          const sema::Function &function, diag::Sink &sink) {
  TypedLeaf typed;
  if (leaf.kind == LeafKind::Tuple && !parameter.isConstexpr && !parameter.pinned) {
    typed.elements.emplace();
    compiler::Parameter element = parameter;
    element.hasDefault = false;
    for (const Leaf &part : leaf.tuple->elements) {
      std::optional<TypedLeaf> row = typedLeaf(part, element, function, sink);
      if (!row)
        return std::nullopt;
      typed.elements->push_back(std::move(*row));
    }
    return typed;
  }
  compiler::Parameter plain = parameter;
  plain.doNotSpecialize = true;
  std::optional<KeyLeaf> key = specializeLeaf(leaf, plain, function, sink);
  if (!key || (key->kind != KeyScalar && key->kind != KeyPointer))
    return key ? std::optional(typed) : std::nullopt;
  typed.type = std::get<sema::Type>(specOf(leaf, *key, plain).value);
  typed.type->isConst |= leaf.readOnly;
  typed.bits = slotOf(leaf, typed.type->element, typed.type->pointer);
  return typed;
}

std::optional<std::vector<TypedLeaf>> Dispatcher::bindForHost(std::span<const Argument> arguments,
                                                              compiler::CompileOptions &options,
                                                              diag::Sink &sink) {
  Call call;
  call.options = options;
  if (!bind(call, arguments, sink))
    return std::nullopt;
  options = call.options;
  std::vector<TypedLeaf> rows;
  size_t before = sink.errorCount();
  for (size_t i = 0; i != parameters_.size(); ++i)
    if (std::optional<TypedLeaf> row = typedLeaf(*call.leaves[i], parameters_[i], *function_, sink))
      rows.push_back(std::move(*row));
  return sink.errorCount() == before ? std::optional(std::move(rows)) : std::nullopt;
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

KernelRef Dispatcher::launch(std::span<const Argument> arguments, std::span<const int64_t> grid,
                             const compiler::CompileOptions &options, const runtime::Place &place,
                             diag::Sink &sink) {
  std::optional<runtime::Grid> extents = makeGrid(grid, this->place(), sink);
  if (!extents)
    return nullptr;
  Call call;
  call.options = options;
  KernelRef kernel = findFor(call, arguments, &*extents, place, sink);
  if (!kernel)
    return nullptr;
  llvm::SmallVector<uint64_t, 24> slots;
  for (size_t i = 0; i != kernel->slots.size(); ++i) {
    const SpecializedKernel::Slot &slot = kernel->slots[i];
    const auto &[part, index] = call.parts[slot.leaf];
    const Leaf &leaf = *part;
    if (leaf.readOnly && slot.written) {
      const std::string &name = kernel->compilation->arguments()[i].name; // of an element too: "pair.0"
      sink.report(Kind::ArgumentReadOnly, parameters_[index].location, {function_->definition->name, name});
      return nullptr;
    }
    slots.push_back(slotOf(leaf, slot.dtype, slot.pointer));
  }
  return run(*kernel, slots, *extents, place, sink) ? kernel : nullptr;
}

// A grid with a 0 runs nothing. False after a diagnostic.
bool Dispatcher::run(SpecializedKernel &kernel, std::span<const uint64_t> slots, const runtime::Grid &grid,
                     const runtime::Place &place, diag::Sink &sink) {
  if (grid.extent[0] == 0 || grid.extent[1] == 0 || grid.extent[2] == 0)
    return true;
  Status status = kernel.compilation->launch(slots, grid, place);
  if (!status.ok())
    compiler::reportStatus(status, kernel.compilation->targetName(), this->place(), sink);
  return status.ok();
}

KernelRef Dispatcher::launchKnown(std::span<const PlainArgument> arguments, std::span<const int64_t> grid,
                                  std::string_view target, const runtime::Place &place, diag::Sink &sink) {
  llvm::SmallVector<uint64_t, 24> slots;
  KernelRef kernel = known_.find(arguments, target, place.device, function_->env->version(), parameters(),
                                 *function_, table_, slots);
  if (!kernel)
    return nullptr;
  std::optional<runtime::Grid> extents = makeGrid(grid, this->place(), sink);
  return extents && run(*kernel, slots, *extents, place, sink) ? kernel : nullptr;
}

// nullopt: a default among them is a tuple, or the rest of the arguments is.
std::optional<KnownCall> Dispatcher::knownCallOf(std::span<const PlainArgument> arguments,
                                                 const SpecializedKernel &kernel) {
  if (llvm::any_of(parameters_, [](const compiler::Parameter &parameter) { return parameter.isVariadic; }))
    return std::nullopt;
  KnownCall call;
  std::vector<int> argumentOf(parameters_.size(), -1);
  diag::Sink unheard;
  for (size_t i = 0, position = 0; i != arguments.size(); ++i) {
    const PlainArgument &argument = arguments[i];
    if (argument.name == "ir_override" && argument.kind != LeafKind::None)
      return std::nullopt; // the file may be another one the next time
    KnownCall::Argument &known = call.arguments.emplace_back();
    known.like = argument;
    known.like.name = known.like.text = {};
    known.name = argument.name;
    known.text = argument.text;
    size_t index = 0;
    if (argument.name.empty())
      index = position++;
    else
      while (index != parameters_.size() && parameters_[index].name != argument.name)
        ++index;
    known.isExact = index == parameters_.size() || parameters_[index].isConstexpr || argument.isConstant ||
                    argument.kind == LeafKind::None || argument.kind == LeafKind::Constant;
    if (index == parameters_.size())
      continue;
    known.parameter = int(index);
    argumentOf[index] = int(i);
    if (known.isExact)
      continue;
    Leaf leaf{argument.kind,       argument.dtype, argument.typed, argument.readOnly,
              argument.isConstant, argument.bits,  nullptr,        nullptr};
    std::optional<KeyLeaf> key = specializeLeaf(leaf, parameters_[index], *function_, unheard);
    if (!key)
      return std::nullopt;
    known.key = *key;
    known.rule = ruleOf(argument, parameters_[index]);
  }
  // Without tuples the leaves of a call are its parameters.
  for (size_t i = 0; i != parameters_.size(); ++i)
    if (argumentOf[i] < 0 && defaults_[i].kind == LeafKind::Tuple)
      return std::nullopt;
  for (const SpecializedKernel::Slot &slot : kernel.slots) {
    KnownCall::Slot &known = call.slots.emplace_back();
    known = {argumentOf[slot.leaf], 0, slot.dtype, slot.pointer};
    if (known.argument < 0)
      known.bits = slotOf(defaults_[slot.leaf], slot.dtype, slot.pointer);
  }
  return call;
}

void Dispatcher::remember(std::span<const PlainArgument> arguments, const std::string &target,
                          const runtime::Place &place, const KernelRef &kernel) {
  // A target whose architecture is chosen at each launch has other code the next time.
  const compiler::Target *found = compiler::findTarget(target);
  if (!found || found->arch || (found->devices && place.device < 0))
    return;
  std::optional<uint64_t> drops = known_.wantsMore() ? table_.dropsWhileKept(*kernel) : std::nullopt;
  if (!drops)
    return;
  if (std::optional<KnownCall> call = knownCallOf(arguments, *kernel))
    known_.add(std::move(*call), target, place.device, kernel.get(), *drops);
}

} // namespace tegula::jit
