// Mutates files and passes them to the C interface, for a given time: `tegula_abi_fuzz SECONDS SEED OUT
// FILE...`; a file is also replayed as it is with SECONDS 0. Inputs run in a child, so that what ends it is
// found: an exit, a signal, ten seconds of processor time, memory that grows with each repetition. The input
// is kept in the folder OUT. Golden files say in their RUN lines with which signature a kernel compiles. Exit
// status: 0 nothing was found, 1 something, 2 misuse.
#include "AbiTarget.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t mostBytes = 1 << 20;
constexpr int inputsOfAChild = 200, childIsDone = 77, childLeaks = 78;
#if __has_feature(address_sanitizer) // checked code takes ten times as long
constexpr int secondsOfAnInput = 100;
#else
constexpr int secondsOfAnInput = 10;
#endif

// Holds what the child is at, in memory that the parent sees.
struct Shared {
  size_t count, size;
  uint8_t data[mostBytes];
};

using Random = std::mt19937_64;
size_t below(Random &random, size_t bound) { return bound ? random() % bound : 0; }

// A golden file gives one input for each of its RUN lines.
void addInputs(std::vector<std::string> &corpus, const std::string &text) {
  static const std::regex run(R"re(# RUN: %\w+ (\w+) '([^'\n]*)')re");
  size_t before = corpus.size();
  for (std::sregex_iterator at(text.begin(), text.end(), run), end; at != end; ++at)
    corpus.push_back("#fuzz kernel=" + (*at)[1].str() + ";signature=" + (*at)[2].str() +
                     ";args=ppiif;grid=1;warps=4\n" + text);
  if (corpus.size() == before)
    corpus.push_back("#fuzz args=pppiiiiiiiii;grid=1\n" + text);
}

std::string mutated(const std::vector<std::string> &corpus, Random &random) {
  static const char *const pieces[] = {
      "0",
      "-1",
      "1048576",
      "2147483648",
      "18446744073709551616",
      "1e308",
      "float('nan')",
      "None",
      "True",
      "tl.constexpr",
      "tl.arange(0, 16)",
      "tl.static_range(3)",
      "for i in range(n):\n",
      "if n:\n",
      "while n:\n",
      "tl.load",
      "tl.store",
      "tl.dot",
      "tl.sum",
      "tl.reshape",
      "tl.trans",
      "tl.cumsum",
      "tl.sort",
      ".to(tl.int8)",
      ".to(tl.float8e5)",
      "tl.int1",
      "tl.int64",
      "[:, None]",
      "[None, :]",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      "'",
      "\"",
      "\\",
      "\n",
      "\t",
      "    ",
      "#",
      ":",
      ",",
      "*",
      "**",
      "//",
      "%",
      "<<",
      ">>",
      "~",
      "lambda x: x",
      "\xff",
      "\xe2\x80\xa8",
      "=*f32",
      "=i32",
      "=u64",
      "=fp8e4nv",
      "=(1, 2)",
      "target=cpu;",
      "target=ptxvm;",
      "target=interp;",
      "warps=64;",
      "debug=1;",
      "listed=1;",
      "config=num_warps=8,BLOCK=16;",
      "grid=cdiv(n, 2);",
      "@triton.autotune(configs=[triton.Config({'B': 16}, num_warps=2)], key=[])\n"};
  std::string text = corpus[below(random, corpus.size())];
  for (size_t round = 0, rounds = size_t(1) << below(random, 5); round != rounds && !text.empty(); ++round) {
    size_t at = below(random, text.size()),
           length = std::min(text.size() - at, size_t(1) << below(random, 8));
    switch (below(random, 8)) {
    case 0: text[at] = char(text[at] ^ 1 << below(random, 8)); break;
    case 1: text[at] = char(random()); break;
    case 2: text.erase(at, length); break;
    case 3: text.insert(below(random, text.size()), text.substr(at, length)); break;
    case 4: text.insert(at, pieces[below(random, std::size(pieces))]); break;
    case 5: { // a number of the text becomes another one
      size_t digit = text.find_first_of("0123456789", at);
      if (digit != std::string::npos)
        text.replace(digit, 1, pieces[below(random, 7)]);
      break;
    }
    case 6: { // a word becomes another word
      const std::string &other = corpus[below(random, corpus.size())];
      size_t from = below(random, other.size());
      text.replace(at, std::min<size_t>(length, 16), other.substr(from, 1 + below(random, 24)));
      break;
    }
    default: { // a line of another input
      const std::string &other = corpus[below(random, corpus.size())];
      size_t from = other.find('\n', below(random, other.size())), line = text.find('\n', at);
      if (from != std::string::npos && line != std::string::npos)
        text.insert(line, other.substr(from, other.find('\n', from + 1) - from));
    }
    }
  }
  return text.substr(0, mostBytes);
}

void limitTime(int seconds) {
  itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// The heap counts as used what a thread has freed and keeps for itself. Each of the threads of a launch keeps
// some of each size, which it comes by over hundreds of repetitions: with many cores that looks like a leak.
// So the program runs anew with threads that keep nothing.
void runWithoutCachesOfThreads(char **argv) {
  constexpr const char *name = "GLIBC_TUNABLES", *wanted = "glibc.malloc.tcache_count=0";
  const char *found = std::getenv(name);
  if (found && std::string_view(found) == wanted)
    return;
  setenv(name, wanted, /*overwrite=*/1);
  execv("/proc/self/exe", argv);
}

size_t usedAfter(const std::string &text, int repetitions) {
  for (int repetition = 0; repetition != repetitions; ++repetition)
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  return mallinfo2().uordblks;
}

// Does memory still grow with each of the last repetitions? Caches fill over the first ones, and stay. Each
// compile runs on a thread of its own, whose share of the heap settles over hundreds: who grows is watched
// for longer, and leaks if each run leaves the smallest block there is.
bool leaks(const std::string &text) {
  constexpr int repetitions = 30, last = 5, many = 100, windows = 5;
  size_t before = usedAfter(text, repetitions - last);
  for (int repetition = 0; repetition != last; ++repetition) {
    size_t now = usedAfter(text, 1);
    if (now <= before)
      return false;
    before = now;
  }
  constexpr size_t smallestBlock = 16;
  size_t grown = 0;
  for (int window = 0; window != windows; ++window) {
    size_t now = usedAfter(text, many);
    grown = now > before ? now - before : 0;
    if (grown < many * smallestBlock)
      return false;
    before = now;
  }
  return true;
}

[[noreturn]] void runChild(const std::vector<std::string> &inputs, Random random, double until,
                           Shared &shared, bool replays) {
  auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  for (int i = 0; replays ? i != int(inputs.size()) : i != inputsOfAChild && now() < until; ++i) {
    std::string text = replays ? inputs[size_t(i)].substr(0, mostBytes) : mutated(inputs, random);
    std::memcpy(shared.data, text.data(), text.size());
    shared.size = text.size();
    ++shared.count;
    limitTime(secondsOfAnInput);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
    if (replays || i % 64 == 63) {
      limitTime(30 * secondsOfAnInput);
      if (leaks(text))
        _exit(childLeaks);
    }
    limitTime(0);
  }
  _exit(childIsDone);
}

std::string judgement(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGPROF ? "hang" : "signal-" + std::to_string(WTERMSIG(status));
  int code = WEXITSTATUS(status);
  return code == childIsDone ? "" : code == childLeaks ? "leak" : "exit-" + std::to_string(code);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: tegula_abi_fuzz SECONDS SEED OUT FILE...\n");
    return 2;
  }
  runWithoutCachesOfThreads(argv);
  double seconds = std::atof(argv[1]);
  bool replays = seconds == 0;
  uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  std::string folder = argv[3];
  std::vector<std::string> corpus;
  for (int i = 4; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (replays)
      corpus.push_back(text.str());
    else
      addInputs(corpus, text.str());
  }
  auto *shared = static_cast<Shared *>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  double until = now() + seconds;
  std::map<std::string, int> found;
  for (uint64_t child = 0; child == 0 || now() < until; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
#if !__has_feature(address_sanitizer) // its shadow takes terabytes of addresses
      rlimit memory{size_t(6) << 30, size_t(6) << 30};
      setrlimit(RLIMIT_AS, &memory);
#endif
      runChild(corpus, Random(seed + child), until, *shared, replays);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (std::string kind = judgement(status); !kind.empty()) {
      std::string name =
          folder + "/" + kind + "-" + std::to_string(seed) + "-" + std::to_string(child) + ".py";
      std::ofstream(name, std::ios::binary)
          .write(reinterpret_cast<const char *>(shared->data), std::streamsize(shared->size));
      std::printf("%s: %s\n", kind.c_str(), name.c_str());
      std::fflush(stdout);
      ++found[kind];
    }
    if (replays)
      break;
  }
  int total = 0;
  for (const auto &[kind, count] : found)
    total += count;
  std::printf("abi_fuzz: %zu inputs of %zu files, seed %llu: %d found\n", shared->count, corpus.size(),
              static_cast<unsigned long long>(seed), total);
  return total ? 1 : 0;
}
