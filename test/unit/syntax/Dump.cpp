// tegula_syntax_dump FILE...: prints each file's tree, or its diagnostics; with "-" it reads
// names of files from standard input and answers each with "OK n" or "ERROR n" and n bytes,
// so that a test can ask about many files without starting a process for each.
#include "syntax/Parser.h"
#include "syntax/Printer.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace tegula;

namespace {

struct Answer {
  bool ok;
  std::string text;
};

Answer dump(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  diag::Sink sink;
  auto tree = syntax::parse(std::make_shared<diag::Source>(path, text.str()), sink);
  std::string printed = syntax::print(*tree);
  if (sink.hasErrors())
    return {false, diag::render(sink.all())};
  return {true, std::move(printed)};
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "-") {
    std::string path;
    while (std::getline(std::cin, path)) {
      Answer answer = dump(path);
      std::cout << (answer.ok ? "OK " : "ERROR ") << answer.text.size() << "\n" << answer.text << std::flush;
    }
    return 0;
  }
  bool ok = true;
  for (int i = 1; i < argc; ++i) {
    Answer answer = dump(argv[i]);
    std::fputs(answer.text.c_str(), stdout);
    ok &= answer.ok;
  }
  return ok ? 0 : 1;
}
