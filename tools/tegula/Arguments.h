// Grids, arguments and arrays of the command line, as `run` and `simulate` take them.
#pragma once
#include "Npy.h"
#include "tegula/tegula.hpp"

#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tegula::cli {

struct UsageError {
  std::string what, hint;
};
// Prints it; the exit code.
int usage(const UsageError &error);

// "8,4" -> extents. What they may be is the library's business.
std::variant<std::vector<int64_t>, UsageError> gridOf(std::string_view text);

// The arguments of the command line and the arrays behind them.
struct Bound {
  std::map<std::string, Array> arrays; // by name; stable addresses
  std::deque<std::string> names, texts;
  std::map<std::string, tg::Descriptor> descriptors; // by the argument's name, of the array of this name
  std::vector<tg_argument> arguments;
};

// NAME[:TYPE]=VALUE; -1: bound, else an exit code. `hasMemory` false: new arrays are types and shapes only.
int bind(Bound &bound, const std::string &text, bool hasMemory = true);
// Of NAME=FILE.npy, before anything runs: the names are arrays, each has a file of its own. -1, else an exit
// code.
int checkSaves(const Bound &bound, const std::vector<std::string> &saves);
// NAME=FILE.npy, which was checked.
int save(Bound &bound, const std::string &text, bool isQuiet);

} // namespace tegula::cli
