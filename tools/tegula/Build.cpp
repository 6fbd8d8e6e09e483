// The verb `build`: kernels compiled ahead of time, as an archive, a header and a file for CMake.
#include "Arguments.h"
#include "Verbs.h"
#include "base/Files.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>

namespace tegula::cli {
namespace {

// One kernel to build: a line of a list, or the command line itself.
struct Wanted {
  std::string name, kernel, signature, options;
  std::vector<std::string> targets;
};

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  for (std::istringstream in(text); std::getline(in, part, separator);)
    parts.push_back(part);
  return parts;
}

std::string kernelName(const std::string &kernel) {
  size_t separator = kernel.rfind("::");
  return separator == std::string::npos ? "" : kernel.substr(separator + 2);
}

// FILE.py::KERNEL <tab> TARGET[,TARGET] <tab> OPTIONS <tab> SIGNATURE. Lines that differ in the target only
// are one kernel; a further specialization of a kernel gets a number behind its name. -1: read, else an exit
// code.
int readList(const BuildOptions &options, std::vector<Wanted> &all) {
  constexpr uint64_t largestList = uint64_t(1) << 28;
  Result<std::string> text = readFile(options.list, largestList);
  if (!text)
    return report(options.list, "cannot be read: " + text.status().message,
                  "TEGULA_RECORD=FILE of a run writes one");
  std::istringstream file(*text);
  std::map<std::string, int> uses;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#')
      continue;
    std::vector<std::string> fields = split(line, '\t');
    if (fields.size() == 3)
      fields.emplace_back(); // a kernel without arguments
    if (fields.size() != 4 || kernelName(fields[0]).empty())
      return report(options.list + ":" + std::to_string(number), "the line is no specialization",
                    "write FILE.py::KERNEL, targets, options and a signature, with tabs between them");
    std::vector<std::string> targets =
        options.targets.empty() ? split(fields[1], ',') : split(options.targets, ',');
    auto known = std::ranges::find_if(all, [&](const Wanted &other) {
      return other.kernel == fields[0] && other.options == fields[2] && other.signature == fields[3];
    });
    if (known == all.end()) {
      std::string name = kernelName(fields[0]);
      if (int use = ++uses[name]; use > 1)
        name += "_" + std::to_string(use);
      known = all.insert(all.end(), {name, fields[0], fields[3], fields[2], {}});
    }
    for (const std::string &target : targets)
      if (std::ranges::find(known->targets, target) == known->targets.end())
        known->targets.push_back(target);
  }
  return all.empty()
             ? report(options.list, "has no specialization", "TEGULA_RECORD=FILE of a run writes some")
             : -1;
}

// "cpu:haswell" is a processor, "sm_90a" an architecture.
struct Compiled {
  Opened opened; // outlives its kernel
  tg::Kernel kernel;
};
tg::Expected<Compiled> compileFor(const Wanted &wanted, const std::string &target) {
  size_t colon = target.find(':');
  auto opened = open(wanted.kernel, target.substr(0, colon));
  if (!opened)
    return opened.error();
  tg::CompileOptions raw;
  raw.cpu = colon == std::string::npos ? "" : target.substr(colon + 1);
  raw.options = wanted.options;
  auto kernel = opened->function.compile(wanted.signature, raw);
  if (!kernel)
    return kernel.error();
  return Compiled{std::move(*opened), std::move(*kernel)};
}

// An assembler that is not there leaves the work to each machine that runs the kernel.
void warnWithoutBinary(const tg::Kernel &kernel, const std::string &name, const std::string &target) {
  const std::vector<std::string> stages = kernel.stages();
  if (std::ranges::count(stages, "cubin") == 0)
    return;
  auto code = kernel.stage("cubin");
  if (code)
    return;
  std::cerr << name << " for " << target << ": warning: the driver assembles at the first launch, since here "
            << "nothing does\n";
  for (const tg::Diagnostic &diagnostic : code.error().diagnostics()) {
    std::cerr << "  " << diagnostic.message << "\n";
    if (!diagnostic.hint.empty())
      std::cerr << "  hint: " << diagnostic.hint << "\n";
  }
}

std::string stem(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  name = name.substr(0, name.rfind('.'));
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) ? "k_" + name : name;
}

std::string fileOf(const std::string &path) { return path.substr(path.rfind('/') + 1); }
std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// An interface target that has the header and the library; the archive's path is a definition.
int writeCmake(const BuildOptions &options, const std::string &prefix) {
  std::string upper = prefix;
  for (char &c : upper)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  std::ostringstream file;
  file << "# Made by `tegula build`. include() it behind find_package(tegula), and link " << prefix << ".\n"
       << "add_library(" << prefix << " INTERFACE)\n"
       << "target_link_libraries(" << prefix << " INTERFACE tegula::rt)\n";
  if (!options.header.empty())
    file << "target_include_directories(" << prefix << " INTERFACE \"${CMAKE_CURRENT_LIST_DIR}/"
         << folderOf(options.header) << "\")\n";
  file << "target_compile_definitions(" << prefix << " INTERFACE " << upper
       << "_ARCHIVE=\"${CMAKE_CURRENT_LIST_DIR}/" << fileOf(options.output) << "\")\n";
  int code = put(options.cmake, {file.str()});
  return code == -1 ? int(ExitOk) : code;
}

// No file is written over another one of this build; -1, else an exit code.
int checkFiles(const BuildOptions &options) {
  const std::pair<const char *, std::string> files[] = {
      {"the kernel's file", options.kernel.substr(0, options.kernel.rfind("::"))},
      {"--list", options.list},
      {"-o", options.output},
      {"--header", options.header},
      {"--cmake", options.cmake}};
  for (size_t i = 2; i != std::size(files); ++i)
    for (size_t j = 0; j != i; ++j)
      if (!files[i].second.empty() && !files[j].second.empty() &&
          isSameFile(files[i].second, files[j].second))
        return usage({std::string(files[j].first) + " and " + files[i].first + " are one file, `" +
                          files[i].second + "`",
                      "give each a path of its own"});
  return -1;
}

bool isIdentifier(std::string_view name) {
  auto isLetter = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, isLetter);
}

} // namespace

int build(const BuildOptions &options) {
  std::vector<Wanted> all;
  if (options.kernel.empty() == options.list.empty())
    return usage({"give one kernel, or --list", "FILE.py::KERNEL with --signature, or --list FILE"});
  if (!options.cmake.empty() && folderOf(options.cmake) != folderOf(options.output))
    return usage({"the --cmake file is not beside the archive", "name it in the folder of -o"});
  if (!options.prefix.empty() && !isIdentifier(options.prefix))
    return usage(
        {"--prefix `" + options.prefix + "` is no name of C", "letters, digits and `_`, as in my_kernels"});
  if (int code = checkFiles(options); code != -1)
    return code;
  if (options.list.empty())
    all.push_back({options.name.empty() ? kernelName(options.kernel) : options.name, options.kernel,
                   options.signature, options.options,
                   split(options.targets.empty() ? "cpu" : options.targets, ',')});
  else if (int code = readList(options, all); code != -1)
    return code;

  std::vector<Opened> opened;
  std::vector<tg::Kernel> kernels;
  std::vector<std::string> names, targets;
  for (Wanted &wanted : all)
    for (const std::string &target : wanted.targets) {
      auto compiled = compileFor(wanted, target);
      if (!compiled)
        return report(compiled.error());
      const tg::Kernel &kernel = kernels.emplace_back(std::move(compiled->kernel));
      opened.push_back(std::move(compiled->opened));
      names.push_back(wanted.name.empty() ? kernel.name() : wanted.name);
      targets.push_back(target);
      reportWarnings(kernel);
    }
  std::string prefix = options.prefix.empty() ? stem(options.output) : options.prefix;
  if (auto written = tg::writeArchive(names, kernels, options.output, options.header, prefix); !written)
    return report(written.error());
  for (size_t i = 0; i != kernels.size(); ++i)
    warnWithoutBinary(kernels[i], names[i], targets[i]);
  return options.cmake.empty() ? ExitOk : writeCmake(options, prefix);
}

} // namespace tegula::cli
