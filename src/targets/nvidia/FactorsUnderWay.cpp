#include "targets/nvidia/FactorsUnderWay.h"
#include "targets/nvidia/ProductLines.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <optional>
#include <vector>

namespace tegula::nvidia {

namespace {

// A register of rows, and the products under way that read it.
struct Factor {
  size_t fence = 0;             // the line of the fence ahead of the first of them
  unsigned group = 0;           // of the last of them
  std::vector<size_t> products; // their lines
};

class OwnFactors {
public:
  explicit OwnFactors(llvm::StringRef ptx) {
    eachWholeLine(ptx, [&](llvm::StringRef line) { lines_.push_back(line.str()); });
  }

  std::string run() {
    for (size_t i = 0; i != lines_.size(); ++i)
      look(i, llvm::StringRef(lines_[i]).trim());
    declare();
    std::string result;
    for (size_t i = 0; i != lines_.size(); ++i)
      if (auto more = beside_.find(i); more == beside_.end())
        result += lines_[i];
      else
        result += more->second.ahead + lines_[i] + more->second.behind;
    return result;
  }

private:
  struct Beside {
    std::string ahead, behind;
  };

  void look(size_t i, llvm::StringRef code) {
    if (code.contains(".entry ") || code.contains(".func ")) {
      declare();
    } else if (code.starts_with(".reg ") && !declaration_) {
      declaration_ = i;
    } else if (isBranchOrLabel(code)) {
      underWay_.clear();
      fence_.reset();
    } else if (isFence(code)) {
      fence_ = i;
    } else if (code.starts_with("wgmma.commit_group")) {
      ++groups_;
    } else if (code.starts_with("wgmma.wait_group")) {
      unsigned pending = 0;
      code.rtrim("; ").rsplit(' ').second.getAsInteger(10, pending);
      dropEnded(pending);
    } else if (isProduct(code)) {
      for (llvm::StringRef name : factorsOf(code))
        if (fence_)
          add(name, i);
    } else if (!underWay_.empty()) {
      for (llvm::StringRef name : registersOf(code))
        if (auto known = underWay_.find(name); known != underWay_.end()) {
          giveOwn(name, known->second);
          underWay_.erase(known);
        }
    }
  }

  void add(llvm::StringRef name, size_t product) {
    Factor &factor = underWay_[name];
    if (factor.products.empty())
      factor.fence = *fence_;
    factor.products.push_back(product);
    factor.group = groups_;
  }

  // Groups end in their order.
  void dropEnded(unsigned pending) {
    std::vector<std::string> ended;
    for (auto &[name, factor] : underWay_)
      if (factor.group + pending < groups_)
        ended.push_back(name.str());
    for (const std::string &name : ended)
      underWay_.erase(name);
  }

  void giveOwn(llvm::StringRef name, const Factor &factor) {
    // One that is written behind the fence cannot be copied ahead of it.
    for (size_t i = factor.fence + 1; i != factor.products.front(); ++i)
      if (!isProduct(llvm::StringRef(lines_[i]).trim()) && llvm::is_contained(registersOf(lines_[i]), name))
        return;
    std::string own = prefix + std::to_string(owned_++);
    beside_[factor.fence].ahead += "\tmov.b32 \t" + own + ", " + name.str() + ";\n";
    for (size_t product : factor.products)
      renameRegister(lines_[product], name, own);
  }

  // Of a function.
  void declare() {
    if (owned_ && declaration_)
      beside_[*declaration_].behind += "\t.reg .b32 \t" + (prefix + ("<" + std::to_string(owned_) + ">;\n"));
    owned_ = 0;
    declaration_.reset();
    underWay_.clear();
    fence_.reset();
  }

  static constexpr const char *prefix = "%own";

  std::vector<std::string> lines_;
  std::map<size_t, Beside> beside_; // by line
  llvm::StringMap<Factor> underWay_;
  std::optional<size_t> fence_, declaration_; // lines: the last fence of this code, the function's first .reg
  unsigned groups_ = 0, owned_ = 0;
};

} // namespace

std::string giveFactorsOwnRegisters(std::string_view ptx) {
  llvm::StringRef text(ptx);
  return text.contains("wgmma.mma_async") ? OwnFactors(text).run() : text.str();
}

} // namespace tegula::nvidia
