#include "analysis/Polynomial.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace tegula::analysis {

bool Factor::dependsOn(unsigned dim) const {
  return llvm::any_of(dims, [&](int8_t d) { return d == int8_t(dim); });
}

bool Factor::operator<(const Factor &other) const {
  return number != other.number
             ? number < other.number
             : std::lexicographical_compare(dims.begin(), dims.end(), other.dims.begin(), other.dims.end());
}

std::optional<int64_t> Polynomial::constant() const {
  if (terms_.empty())
    return 0;
  if (terms_.size() == 1 && terms_[0].factors.empty())
    return terms_[0].coefficient;
  return std::nullopt;
}

bool Polynomial::dependsOn(unsigned dim) const {
  for (const Monomial &term : terms_)
    for (const Factor &factor : term.factors)
      if (factor.dependsOn(dim))
        return true;
  return false;
}

bool Polynomial::hasTiles() const {
  for (const Monomial &term : terms_)
    for (const Factor &factor : term.factors)
      if (factor.isTile())
        return true;
  return false;
}

bool Polynomial::normalize() {
  bool fits = true;
  auto before = [](const Monomial &a, const Monomial &b) {
    return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(),
                                        b.factors.end());
  };
  std::sort(terms_.begin(), terms_.end(), before);
  llvm::SmallVector<Monomial, 2> merged;
  for (Monomial &term : terms_) {
    if (!merged.empty() && merged.back().factors == term.factors)
      fits &= !llvm::AddOverflow(merged.back().coefficient, term.coefficient, merged.back().coefficient);
    else
      merged.push_back(std::move(term));
  }
  llvm::erase_if(merged, [](const Monomial &term) { return term.coefficient == 0; });
  terms_ = std::move(merged);
  return fits;
}

std::optional<Polynomial> Polynomial::add(const Polynomial &a, const Polynomial &b) {
  Polynomial result = a;
  result.terms_.append(b.terms_.begin(), b.terms_.end());
  // Near the edge there is none, so that extents may be multiplied with what is left.
  for (const Monomial &term : result.terms_)
    if (term.coefficient > (int64_t(1) << 61) || term.coefficient < -(int64_t(1) << 61))
      return std::nullopt;
  return result.normalize() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Polynomial> Polynomial::multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const Monomial &x : a.terms_)
    for (const Monomial &y : b.terms_) {
      Monomial product;
      if (llvm::MulOverflow(x.coefficient, y.coefficient, product.coefficient))
        return std::nullopt;
      product.factors = x.factors;
      product.factors.append(y.factors.begin(), y.factors.end());
      llvm::sort(product.factors);
      result.terms_.push_back(std::move(product));
    }
  return result.normalize() ? std::optional(std::move(result)) : std::nullopt;
}

Polynomial Polynomial::remapped(llvm::ArrayRef<int8_t> map) const {
  Polynomial result = *this;
  for (Monomial &term : result.terms_) {
    for (Factor &factor : term.factors)
      for (int8_t &dim : factor.dims)
        if (dim >= 0)
          dim = map[dim];
    llvm::sort(term.factors);
  }
  result.normalize();
  return result;
}

bool Polynomial::operator==(const Polynomial &other) const {
  return terms_.size() == other.terms_.size() &&
         std::equal(terms_.begin(), terms_.end(), other.terms_.begin(),
                    [](const Monomial &a, const Monomial &b) {
                      return a.coefficient == b.coefficient && a.factors == b.factors;
                    });
}

} // namespace tegula::analysis
