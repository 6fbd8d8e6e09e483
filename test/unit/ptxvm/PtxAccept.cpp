// Says of each PTX text on the standard input (separated by a byte 1) why the machine's parser
// refuses it: one line a text, empty when it is accepted. For test/fuzz/test_ptx_accept.py.
#include "ptxvm/Ptx.h"

#include <algorithm>
#include <iostream>
#include <iterator>

int main() {
  std::string all((std::istreambuf_iterator<char>(std::cin)), {});
  for (size_t at = 0; at <= all.size();) {
    size_t end = std::min(all.find('\x01', at), all.size());
    auto module = tegula::ptxvm::parse(std::string_view(all).substr(at, end - at), "text");
    std::string why = module ? "" : module.status().message;
    std::replace(why.begin(), why.end(), '\n', ' ');
    std::cout << why << "\n";
    at = end + 1;
  }
}
