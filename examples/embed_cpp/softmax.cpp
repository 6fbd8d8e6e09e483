// Runs the softmax of examples/kernels/softmax.py and checks it against a loop.
//   softmax FILE.py [ROWS COLUMNS [TARGET]]
// TARGET is cpu, interp, or cuda for a GPU; exit status 77 means that there is none.
#include <tegula/tegula.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static double largestError(const std::vector<float> &in, const std::vector<float> &out, int rows,
                           int columns) {
  double largest = 0;
  for (int row = 0; row != rows; ++row) {
    const float *x = &in[size_t(row) * columns], *y = &out[size_t(row) * columns];
    double peak = -INFINITY, sum = 0;
    for (int i = 0; i != columns; ++i)
      peak = std::fmax(peak, x[i]);
    for (int i = 0; i != columns; ++i)
      sum += std::exp(x[i] - peak);
    for (int i = 0; i != columns; ++i)
      largest = std::fmax(largest, std::fabs(std::exp(x[i] - peak) / sum - y[i]));
  }
  return largest;
}

static int fail(const tg::Error &error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return error.status() == TG_DRIVER ? 77 : 1;
}

// The arrays where the target's kernels reach them. A program with a library of its own for its
// GPU passes that library's pointers, and its stream in a tg::Place.
static tg::Expected<tg::Memory> upload(const std::string &target, const std::vector<float> &array) {
  auto memory = tg::Memory::create(target, array.size() * sizeof(float));
  if (!memory)
    return memory;
  if (auto copied = memory->copyFrom(array.data(), array.size() * sizeof(float)); !copied)
    return copied.error();
  return memory;
}

int main(int argc, char **argv) {
  const char *file = argc > 1 ? argv[1] : "softmax.py";
  int rows = argc > 3 ? std::atoi(argv[2]) : 1823, columns = argc > 3 ? std::atoi(argv[3]) : 781;

  std::string target = argc > 4 ? argv[4] : "cpu";
  auto context = tg::Context::create(target);
  if (!context)
    return fail(context.error());
  auto module = context->open(file);
  if (!module)
    return fail(module.error());
  auto softmax = module->function("softmax_kernel");
  if (!softmax)
    return fail(softmax.error());

  std::vector<float> in(size_t(rows) * columns), out(in.size());
  uint32_t state = 1;
  for (float &x : in)
    x = float(int32_t(state = state * 1664525 + 1013904223)) / float(1u << 28);

  auto there = upload(target, in), result = upload(target, out);
  if (!there || !result)
    return fail(there ? result.error() : there.error());
  float *x = there->as<float>(), *y = result->as<float>();

  int block = int(std::bit_ceil(unsigned(columns)));
  auto kernel = softmax->call({rows}, y, static_cast<const float *>(x), columns, columns, columns,
                              tg::named("BLOCK", block));
  if (!kernel)
    return fail(kernel.error());
  // Waits for the kernel, too: it is in the same order of work.
  if (auto copied = result->copyTo(out.data(), out.size() * sizeof(float)); !copied)
    return fail(copied.error());
  double error = largestError(in, out, rows, columns);
  std::printf("softmax of %d x %d on %s: largest error %.2g\n", rows, columns, kernel->target().c_str(),
              error);

  // An error is a value: the constexpr parameter is missing, and the program goes on.
  auto refused = softmax->call({rows}, y, x, columns, columns, columns);
  if (refused || refused.error().status() != TG_LAUNCH ||
      refused.error().diagnostics().front().kind != "ConstexprMissing") {
    std::fprintf(stderr, "a call without BLOCK was not refused\n");
    return 1;
  }
  return error < 1e-6 ? 0 : 1;
}
