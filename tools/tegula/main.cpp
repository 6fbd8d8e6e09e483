// tegula: the command line. Parses options and hands them to a verb; all else is in the library.
#include "Arguments.h"
#include "Verbs.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tegula::cli;

static constexpr const char *targetHelp = "cpu (default), interp (the reference interpreter), cuda (the GPU "
                                          "at hand) or an architecture: sm_75 ... sm_121a";

static constexpr const char *exitCodes = R"(
Exit codes: 0 done; 1 the kernel, its arguments or a file has a problem, told on stderr;
            2 the command line is not understood; 3 a bug of Tegula, and of
            `simulate` a finding.
)";

// Negative numbers would be read as large ones.
static std::string checkNumber(const std::string &text) {
  bool isNumber = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return isNumber ? "" : "`" + text + "` is no number from 0 on";
}

static void addRun(CLI::App &app, RunOptions &options, int &code) {
  CLI::App *verb = app.add_subcommand("run", "Run a kernel on arrays from .npy files");
  verb->add_option("kernel", options.kernel, "FILE.py::KERNEL")->required();
  verb->add_option("--grid", options.grid, "Programs along each axis: X[,Y[,Z]]")->required();
  verb->add_option(
          "--arg", options.arguments,
          "NAME=VALUE: a number, True, None, 'text', a type (tl.float16), @FILE.npy (an array, modified in\n"
          "memory) or new:f32[4096,781] (zeros). NAME:TYPE=VALUE gives a number this type.\n"
          "desc[32,64]:@FILE.npy is a tensor descriptor of the array with blocks of 32 x 64")
      ->allow_extra_args(false);
  verb->add_option("--save", options.saves, "NAME=FILE.npy: writes an array argument after the run")
      ->allow_extra_args(false);
  verb->add_option("--target", options.target, targetHelp);
  verb->add_flag("--quiet", options.isQuiet, "Print nothing but problems");
  verb->footer("Example:\n  tegula run add.py::add_kernel --grid 4 --arg x=@x.npy --arg y=@y.npy \\\n"
               "      --arg out=new:f32[4096] --arg n=4096 --arg BLOCK=1024 --save out=sum.npy\n");
  verb->callback([&options, &code] { code = run(options); });
}

static void addSimulate(CLI::App &app, SimulateOptions &options, int &code) {
  CLI::App *verb =
      app.add_subcommand("simulate", "Run a kernel's GPU code on this machine's cores, with checks");
  verb->add_option("kernel", options.kernel, "FILE.py::KERNEL, or FILE.ptx::ENTRY");
  verb->add_option("--grid", options.grid, "Blocks along each axis: X[,Y[,Z]]");
  verb->add_option("--arg", options.arguments,
                   "NAME=VALUE as in `tegula run`; of a .ptx file VALUE, in the order of the parameters")
      ->allow_extra_args(false);
  verb->add_option("--save", options.saves, "NAME=FILE.npy; of a .ptx file N=FILE.npy, N from 0")
      ->allow_extra_args(false);
  verb->add_option("--block", options.block, "Of a .ptx file: threads of a block, X[,Y[,Z]]");
  verb->add_option("--shared", options.sharedBytes, "Of a .ptx file: bytes of dynamic shared memory")
      ->check(checkNumber);
  verb->add_option("--schedule", options.schedule,
                   "Which warp goes on: round-robin (default), random, priority, or apart: random, and lanes "
                   "that parted stay so");
  verb->add_option(
      "--copies", options.copies,
      "When asynchronous copies complete: late (default, when they are waited for), at-once, or random");
  verb->add_option("--seed", options.seed,
                   "Of the schedule and of random copies; the same seed gives the same run")
      ->check(checkNumber);
  verb->add_option("--steps", options.stepLimit,
                   "At most so many instructions of the warps of one block (1,000,000,000)")
      ->check(checkNumber);
  verb->add_option("--threads", options.threads, "That run blocks; 0 (default): as many as there are cores")
      ->check(checkNumber);
  verb->add_flag("--profile", options.showsProfile, "Print the source with what each line cost");
  verb->add_option("--html", options.html, "Write costs and findings as one page");
  verb->add_option("--bundle", options.bundle,
                   "A folder that is written when something is found, and repeats the run");
  verb->add_flag("--record", options.recordsAll, "Write the --bundle also when nothing is found");
  verb->add_option("--replay", options.replay, "Run what such a folder holds");
  verb->add_flag("--quiet", options.isQuiet, "Print nothing but problems and findings");
  verb->footer("Exits with 3 when something is found.\n\n"
               "Example:\n  tegula simulate add.py::add_kernel --grid 4 --arg x=@x.npy --arg y=@y.npy \\\n"
               "      --arg out=new:f32[4096] --arg n=4096 --arg BLOCK=1024 --profile\n");
  verb->callback([&options, &code] { code = simulate(options); });
}

static CLI::App *addCompile(CLI::App &app, const char *name, const char *text, CompileFlags &options) {
  CLI::App *verb = app.add_subcommand(name, text);
  verb->add_option("kernel", options.kernel, "FILE.py::KERNEL")->required();
  verb->add_option(
          "--signature", options.signature,
          "NAME=*TYPE[:16] | NAME=TYPE[:16] | NAME=CONSTANT, separated by commas. :16: divisible by 16")
      ->required();
  verb->add_option("--target", options.target, targetHelp);
  verb->add_option("--cpu", options.cpu,
                   "A processor by LLVM's name, e.g. haswell (default: TEGULA_CPU's, else this machine)");
  verb->add_option(
      "--options", options.options,
      "Of the launch: num_warps=8,maxnreg=64, a library as extern_libs.NAME='FILE.bc', a stage in "
      "the place of the compile's as ir_override='FILE.ptx'");
  verb->add_option("--num-warps", options.numWarps);
  verb->add_option("--num-stages", options.numStages);
  verb->add_flag("--debug", options.debug, "Check assertions of the kernel at run time");
  return verb;
}

static void addBuild(CLI::App &app, BuildOptions &options, int &code) {
  CLI::App *verb = app.add_subcommand(
      "build", "Compile kernels ahead of time: an archive and a header for programs without a compiler");
  verb->add_option("kernel", options.kernel, "FILE.py::KERNEL");
  verb->add_option("--signature", options.signature, "As of `tegula compile`");
  verb->add_option("--name", options.name, "Of the function in the header (default: the kernel's)");
  verb->add_option("--options", options.options, "Of the launch: num_warps=8,maxnreg=64");
  verb->add_option("--list", options.list,
                   "A file with a kernel a line, as TEGULA_RECORD=FILE of a run writes it");
  verb->add_option("--targets", options.targets,
                   "cpu (default; this machine, or TEGULA_CPU's), cpu:haswell (a processor by LLVM's name), "
                   "sm_80, sm_90a, ...: "
                   "separated by commas; in the place of those in the list");
  verb->add_option("-o,--output", options.output, "The archive (default: kernels.tga)");
  verb->add_option("--header", options.header, "A header of C and C++ with a typed function for each kernel");
  verb->add_option("--prefix", options.prefix, "Of names in the header (default: the archive's name)");
  verb->add_option("--cmake", options.cmake, "A file for CMake, beside the archive: a target to link");
  verb->footer("Example:\n  tegula build add.py::add_kernel --targets sm_80,sm_90a,cpu -o kernels.tga \\\n"
               "      --header kernels.h --signature 'x=*f32:16,y=*f32:16,out=*f32:16,n=i32,BLOCK=1024'\n");
  verb->callback([&options, &code] { code = build(options); });
}

static void addCheck(CLI::App &app, CheckOptions &options, int &code) {
  CLI::App *verb =
      app.add_subcommand("check", "Print every problem of kernel files that shows without a signature; of a "
                                  "kernel with one, the classic mistakes");
  verb->add_option("files", options.files, "FILE.py ..., or FILE.py::KERNEL with --signature or --arg")
      ->required();
  verb->add_option("--signature", options.signature, "As of `tegula compile`");
  verb->add_option("--arg", options.arguments,
                   "As of `tegula run`: then sizes count, too. new:f32[4096,781] takes no memory")
      ->allow_extra_args(false);
  verb->add_option("--grid", options.grid, "Programs along each axis: X[,Y[,Z]]");
  verb->add_flag("--json", options.isJson, "One JSON object a problem, on stdout");
  verb->footer("Warnings are problems, too; a comment `# tegula: allow(TailWithoutMask)` on a line says that "
               "it is meant.\n\n"
               "Example:\n  tegula check softmax.py\n"
               "  tegula check add.py::add_kernel --signature 'x=*f32,y=*f32,out=*f32,n=i32,BLOCK=1024'\n"
               "  tegula check add.py::add_kernel --grid 4 --arg x=new:f32[4000] --arg y=new:f32[4000] \\\n"
               "      --arg out=new:f32[4000] --arg n=4000 --arg BLOCK=1024\n");
  verb->callback([&options, &code] { code = check(options); });
}

static void addTune(CLI::App &app, TuneFlags &options, int &code) {
  CLI::App *verb =
      app.add_subcommand("tune", "Find the fastest configuration of a kernel for these arguments");
  verb->add_option("kernel", options.kernel, "FILE.py::KERNEL")->required();
  verb->add_option("--grid", options.grid,
                   "Programs along each axis, of arguments and constants: 'cdiv(n, BLOCK)'")
      ->required();
  verb->add_option("--arg", options.arguments, "As of `tegula run`")->allow_extra_args(false);
  verb->add_option(
          "--config", options.configurations,
          "Constants and options: BLOCK=64,num_warps=4. Without any: those that the decorator @autotune "
          "in the file lists")
      ->allow_extra_args(false);
  verb->add_option("--target", options.target, targetHelp);
  verb->add_option("--threads", options.threads, "That compile; 0 (default): as many as there are cores")
      ->check(checkNumber);
  verb->add_option("--milliseconds", options.milliseconds, "That each is measured for (default: 20)");
  verb->add_flag("--forget", options.forgets, "Measure all again, and keep nothing on disk");
  verb->add_flag("--json", options.isJson, "One JSON object on stdout");
  verb->add_option("--plot", options.plot, "Draw the times into a file, out.png (with Python's matplotlib)");
  verb->footer(
      "What was measured is kept beside the compiled kernels, and not measured again.\n\n"
      "Example:\n  tegula tune add.py::add_kernel --grid 'cdiv(n, BLOCK)' --arg x=@x.npy --arg y=@y.npy \\\n"
      "      --arg out=new:f32[4096] --arg n=4096 --config BLOCK=256 --config BLOCK=1024\n");
  verb->callback([&options, &code] { code = tune(options); });
}

static void addPasses(CLI::App &app, PassesFlags &options, int &code) {
  CLI::App *verb = app.add_subcommand("passes", "Print the passes of a compile for a target, in order: name, "
                                                "form of the kernel behind it, reason");
  verb->add_option("--target", options.target, targetHelp);
  verb->footer("Example:\n  tegula passes --target sm_90a\n");
  verb->callback([&options, &code] { code = passes(options); });
}

static void addEnvironment(CLI::App &app, int &code) {
  CLI::App *verb = app.add_subcommand(
      "env", "Print the variables of the environment that count, and what they are set to");
  verb->footer("Example:\n  TEGULA_NUM_THREADS=4 tegula env\n");
  verb->callback([&code] { code = environment(); });
}

static void addCache(CLI::App &app, std::string &path, int &code) {
  CLI::App *verb = app.add_subcommand("cache", "The compiled kernels on disk, which all processes share");
  verb->require_subcommand(1);
  verb->add_subcommand("stats", "Print the folder, how many there are, and their size")->callback([&code] {
    code = cacheStats();
  });
  verb->add_subcommand("verify", "Read each; damaged ones are removed, and the exit code is 1")
      ->callback([&code] { code = cacheVerify(); });
  verb->add_subcommand("clear", "Remove all")->callback([&code] { code = cacheClear(); });
  CLI::App *file = verb->add_subcommand("export", "Write all to a file, for another machine");
  file->add_option("file", path)->required();
  file->callback([&path, &code] { code = cacheExport(path); });
  file =
      verb->add_subcommand("import", "Add those of such a file; it holds code, so mind where it comes from");
  file->add_option("file", path)->required();
  file->callback([&path, &code] { code = cacheImport(path); });
  verb->footer("Example:\n  tegula cache stats\n");
}

static void addDoctor(CLI::App &app, bool &isJson, int &code) {
  CLI::App *verb = app.add_subcommand(
      "doctor", "Say what is here to compile and run kernels with, and what to do about what is not");
  verb->add_flag("--json", isJson, "One JSON object on stdout");
  verb->footer("Exits with 1 when something is wrong; a GPU that is not there is not wrong.\n\n"
               "Example:\n  tegula doctor\n");
  verb->callback([&isJson, &code] { code = doctor(isJson); });
}

// Python's own parser reads what follows these verbs.
static void addPython(CLI::App &app, const char *name, const char *text, int &code) {
  CLI::App *verb = app.add_subcommand(name, text);
  verb->prefix_command();
  verb->set_help_flag();
  verb->callback([verb, name, &code] {
    std::vector<std::string> arguments = verb->remaining();
    arguments.insert(arguments.begin(), name);
    code = runPython("kernel_file", arguments);
  });
}

// Names a verb that is not there: the parser says only that one is missing. nullopt: there is nothing to say.
static std::optional<UsageError> unknownVerb(CLI::App &app, int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-')
    return std::nullopt;
  std::string names;
  for (const CLI::App *verb : app.get_subcommands([](CLI::App *) { return true; })) {
    if (verb->get_name() == argv[1])
      return std::nullopt;
    names += " " + verb->get_name();
  }
  return UsageError{"`" + std::string(argv[1]) + "` is no verb",
                    "the verbs are" + names + "; `tegula --help` says what they do"};
}

// The parser's message about the command line, in our form.
static std::string messageOf(const CLI::App *app, const CLI::Error &error) {
  std::string text = error.what(), verbs;
  const CLI::App *place = app;
  while (place && !place->get_subcommands().empty()) {
    place = place->get_subcommands().front();
    verbs += " " + place->get_name();
  }
  if (text.starts_with("A subcommand is required"))
    text = verbs.empty() ? "there is no verb" : "there is nothing that `" + verbs.substr(1) + "` should do";
  else if (text.size() > 1 && std::isupper(static_cast<unsigned char>(text[0])) &&
           std::islower(static_cast<unsigned char>(text[1])))
    text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  return "tegula: error: " + text + "\n  hint: `tegula" + verbs + " --help` says what there is\n";
}

// A file that is opened while one of the standard streams is closed would be taken for it. In its place
// stands one that can do neither: what is written there fails as before.
static void keepStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// The exit code, unless what was printed did not arrive. Nobody is told that a reader has gone.
static int finish(int code) {
  errno = 0;
  bool isWhole = !std::ferror(stdout) && std::cout.flush().good();
  isWhole &= std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (isWhole)
    return code;
  int reason = errno;
  struct stat status{};
  bool isPipe =
      ::fstat(STDOUT_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
  if (!isPipe)
    report("tegula",
           std::string("the standard output cannot be written to") + (reason ? ": " : "") +
               (reason ? std::strerror(reason) : ""),
           "check where it goes, and the space left there");
  return code == ExitOk ? int(ExitDiagnostics) : code;
}

static int parseAndRun(int argc, char **argv) {
  CLI::App app{"Tegula: the tile language and its compiler"};
  app.require_subcommand(1);
  app.failure_message(messageOf);
  app.set_version_flag("--version", std::string("tegula ") + tg_version());
  app.footer(exitCodes);
  int code = ExitOk;

  RunOptions runOptions;
  addRun(app, runOptions, code);

  SimulateOptions simulateOptions;
  addSimulate(app, simulateOptions, code);

  CompileFlags compileOptions, explainOptions;
  CLI::App *verb =
      addCompile(app, "compile", "Compile a kernel for a signature and write a stage", compileOptions);
  verb->add_option(
      "--emit", compileOptions.emit,
      "ttir, then of cpu: nests, llvm (default), asm, obj; of a GPU: simt, llvm, ptx, cubin, sass");
  verb->add_option("-o,--output", compileOptions.output, "A file; - (default) is stdout");
  verb->add_option("--print-before", compileOptions.printBefore,
                   "A pass (`tegula passes`), or all: prints the kernel ahead of it on stderr");
  verb->add_option("--print-after", compileOptions.printAfter,
                   "The same behind it; of a kernel that does not compile, as far as it came");
  verb->add_flag("--times", compileOptions.showTimes, "Print the milliseconds of each step on stderr");
  verb->footer("Example:\n  tegula compile softmax.py::softmax_kernel --emit asm -o softmax.s \\\n"
               "      --signature 'out=*f32:16,x=*f32:16,stride=i32,n=i32,BLOCK=1024'\n");
  verb->callback([&] { code = compile(compileOptions); });

  verb = addCompile(app, "explain", "Print what the compiler decided, line by line", explainOptions);
  verb->footer("Example:\n  tegula explain add.py::add_kernel --signature "
               "'x=*f32,y=*f32,out=*f32,n=i32,BLOCK=1024'\n");
  verb->callback([&] { code = explain(explainOptions); });

  TuneFlags tuneOptions;
  addTune(app, tuneOptions, code);

  PassesFlags passesOptions;
  addPasses(app, passesOptions, code);

  BuildOptions buildOptions;
  addBuild(app, buildOptions, code);

  CheckOptions checkOptions;
  addCheck(app, checkOptions, code);

  addEnvironment(app, code);
  std::string cacheFile;
  addCache(app, cacheFile, code);
  bool isJson = false;
  addDoctor(app, isJson, code);
  addPython(app, "verify",
            "Run a kernel file against its reference (FILE.py with kernel_fn, reference_fn, get_inputs)",
            code);
  addPython(app, "bench", "Time a kernel file beside its reference, once it is right", code);

  if (auto unknown = unknownVerb(app, argc, argv))
    return usage(*unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    int parserCode = app.exit(error);
    return parserCode == 0 ? ExitOk : ExitUsage;
  }
  return code;
}

int main(int argc, char **argv) {
  keepStandardStreams();
  int code = ExitInternal;
  try {
    code = parseAndRun(argc, argv);
  } catch (const std::bad_alloc &) {
    code = reportNoMemory();
  } catch (const std::exception &error) {
    report("tegula", error.what(), "this is a bug of the command line, not of the kernel");
  }
  return finish(code);
}
