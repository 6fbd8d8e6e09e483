// Verbs that are the Python package's: kernels as Python files with their references.
#include "Verbs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace tegula::cli {
namespace {

namespace fs = std::filesystem;

// Returns true if `package` holds the extension as well: the sources of the package alone are none that
// Python can import, and a checkout or a bundle has them too.
bool canBeImported(const fs::path &package) {
  std::error_code error;
  if (!fs::exists(package / "__init__.py", error))
    return false;
  for (fs::directory_iterator entry(package, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with("_tegula."))
      return true;
  return false;
}

// The package of this build or installation; "": none is beside the program, and Python finds one or does
// not.
std::string findPackage() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *place :
       {"../python", "../..", "../lib/tegula-python", "../lib/x86_64-linux-gnu/tegula-python"})
    if (canBeImported(program / place / "tegula"))
      return fs::weakly_canonical(program / place, error).string();
  return "";
}

std::string wantedPython() {
  tg_variable variable{};
  variable.struct_size = sizeof variable;
  for (size_t i = 0; tg_variable_get(i, &variable) == TG_OK; ++i)
    if (std::strcmp(variable.name, "TEGULA_PYTHON") == 0)
      return variable.value && *variable.value ? variable.value : variable.initial;
  return "python3";
}

} // namespace

int runPython(const std::string &name, const std::vector<std::string> &arguments) {
  if (std::string package = findPackage(); !package.empty()) {
    const char *before = std::getenv("PYTHONPATH");
    std::string path = package + (before && *before ? std::string(":") + before : "");
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  std::string python = wantedPython(), module = "tegula." + name, flag = "-m";
  std::vector<char *> command = {python.data(), flag.data(), module.data()};
  for (const std::string &argument : arguments)
    command.push_back(const_cast<char *>(argument.c_str()));
  command.push_back(nullptr);
  ::execvp(python.c_str(), command.data());
  return report(python, std::string("cannot be run: ") + std::strerror(errno),
                "name a Python in TEGULA_PYTHON");
}

} // namespace tegula::cli
