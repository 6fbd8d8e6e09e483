// tl.dot: the accumulator in its buffer, both factors in row-major memory of the type that
// is computed in (small floats and bytes are widened when they are copied, as f32 or i32), and a
// register-blocked kernel over them: `rows` x `vectors` accumulators stay in registers while
// k runs. Block sizes follow the usual rule: accumulators + one column of b + one broadcast
// of a fill the register file, 12 on AVX2 (16 registers), 16 on AVX-512 (32 registers, where
// two loads a cycle and not registers are the limit).
//
// Bytes stay narrow where K is a multiple of what one instruction sums up: words of 32 bits hold four bytes
// (VNNI), or two of 16 bits, that follow each other along K, and the same kernel runs over words. VNNI
// multiplies unsigned bytes by signed ones: a + 128 is multiplied, and 128 times the sums of b's columns
// taken off.
//
// bf16 stays narrow in the same way where the processor sums two products of bf16 in one instruction. That
// one takes subnormal factors for zero and gives zero for subnormal sums, which N20 forbids. So the exponents
// of both factors are looked at first: where neither has a subnormal element, and the smallest product is a
// multiple of 2^-126, each sum is one too, so nothing subnormal arises. Elsewhere each half of a word is
// widened to f32 in registers.
#include "ir/tile/Tile.h"
#include "targets/cpu/Evaluator.h"
#include "targets/cpu/Transposition.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

class DotEmitter {
public:
  DotEmitter(ProgramEmitter &program, DotOp dot) : p_(program), b_(program.builder), dot_(dot) {
    auto a = shapeOf(dot.getA().getType()), c = shapeOf(dot.getAcc().getType());
    size_t r = a.size();
    batches_ = r == 3 ? a[0] : 1;
    m_ = a[r - 2];
    k_ = a[r - 1];
    n_ = c[r - 1];
    Type accumulator = elementType(dot.getAcc().getType());
    Builder builder(dot.getContext());
    computed_ = accumulator.isF16() || accumulator.isBF16() ? Type(builder.getF32Type()) : accumulator;
    element_ = p_.type(computed_);
    bytes_ = element_->getPrimitiveSizeInBits() / 8;
    lanes_ = std::max<int64_t>(1, p_.machine.vectorBytes / bytes_);
    maxRows_ = p_.machine.vectorBytes == 64 ? 8 : 6;
    if (elementType(dot.getA().getType()).isInteger(8) && elementType(dot.getB().getType()).isInteger(8) &&
        computed_.isInteger(32) && lanes_ > 1)
      together_ = p_.machine.hasByteProducts && k_ % 4 == 0 ? 4 : k_ % 2 == 0 ? 2 : 1;
    // Whole vectors of words in both factors: lanes past an end would be looked at, too.
    inPairs_ = p_.machine.hasBf16Products && elementType(dot.getA().getType()).isBF16() &&
               elementType(dot.getB().getType()).isBF16() && computed_.isF32() && k_ % 2 == 0 &&
               n_ % lanes_ == 0 && batches_ * m_ * k_ % (2 * lanes_) == 0;
    if (inPairs_)
      together_ = 2;
  }

  void emit() {
    Buffer result = *p_.plan.buffer(dot_.getResult());
    Buffer c = inComputedType(result);
    bool isSmall = c.element != result.element;
    if (isSmall)
      c.offset = reserve(c);
    p_.copyTo(dot_.getAcc(), c);
    Type factor = inPairs_         ? elementType(dot_.getA().getType())
                  : together_ == 4 ? Type(IntegerType::get(dot_.getContext(), 8))
                  : together_ == 2 ? Type(IntegerType::get(dot_.getContext(), 16))
                                   : computed_;
    Buffer a = operand(dot_.getA(), factor), b = operand(dot_.getB(), factor);
    p_.setLocation(dot_.getLoc());
    llvm::Value *isExact = nullptr;
    if (inPairs_) {
      llvm::AllocaInst *leastA = least(), *leastB = least();
      lookAt(a, leastA);
      b = inWords(b, leastB);
      k_ /= together_;
      isExact = sumsAreNormal(leastA, leastB);
    } else if (together_ > 1) {
      b = inWords(b);
      if (together_ == 4)
        a = unsignedBytes(a);
      k_ /= together_;
    }
    p_.remark(dot_, "dot",
              "register-blocked " + std::to_string(std::min<int64_t>(maxRows_, m_)) + "x" +
                  std::to_string(std::min<int64_t>(2 * lanes_, n_)) + " kernel in " + describe(computed_) +
                  (together_ > 1 ? ", " + std::to_string(together_) + " products at once" : "") +
                  (inPairs_ ? " where no sum can be subnormal" : ""));
    auto multiply = [&] {
      p_.loop(b_.getInt64(0), b_.getInt64(batches_), 1, "batch", [&](llvm::Value *batch) {
        a_ = matrix(a, batch, m_ * k_);
        rhs_ = matrix(b, batch, k_ * n_);
        c_ = matrix(c, batch, m_ * n_);
        columns();
      });
    };
    if (inPairs_) {
      auto widened = [&] {
        isWidened_ = true;
        multiply();
      };
      p_.branch(isExact, multiply, widened, /*likely=*/true);
    } else {
      multiply();
    }
    if (isSmall)
      narrow(result, c);
  }

private:
  static std::string describe(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  Buffer inComputedType(Buffer buffer) {
    buffer.element = computed_;
    return buffer;
  }

  int64_t reserve(const Buffer &buffer) {
    return p_.plan.reserve(buffer.elements() * buffer.elementBytes() + 128);
  }

  Buffer operand(Value value, Type element) {
    if (const Buffer *buffer = p_.plan.buffer(value); buffer && buffer->element == element)
      return *buffer;
    Buffer packed{element, SmallVector<int64_t, 3>(shapeOf(value.getType())), 0};
    packed.offset = reserve(packed);
    p_.copyTo(value, packed);
    return packed;
  }

  // The least bits of an element that is not zero, less 1, in each half of a word.
  llvm::AllocaInst *least() {
    llvm::Type *halves = p_.lanesOf(b_.getInt16Ty(), 2 * lanes_);
    llvm::AllocaInst *slot = p_.temporary(halves, "least");
    b_.CreateStore(llvm::Constant::getAllOnesValue(halves), slot);
    return slot;
  }

  // Takes the magnitudes of some words into account: a zero, less 1, is the largest.
  void take(llvm::Value *words, llvm::AllocaInst *least) {
    llvm::Type *halves = least->getAllocatedType();
    llvm::Value *bits = b_.CreateAnd(b_.CreateBitCast(words, halves), llvm::ConstantInt::get(halves, 0x7fff));
    bits = b_.CreateSub(bits, llvm::ConstantInt::get(halves, 1));
    llvm::Value *before = b_.CreateLoad(halves, least);
    b_.CreateStore(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, before, bits), least);
  }

  void lookAt(const Buffer &buffer, llvm::AllocaInst *slot) {
    llvm::Type *vector = p_.lanesOf(b_.getInt32Ty(), lanes_);
    p_.loop(b_.getInt64(0), b_.getInt64(buffer.elements() / 2), lanes_, "exponents", [&](llvm::Value *at) {
      llvm::Value *place = b_.CreateGEP(b_.getInt32Ty(), p_.scratchAt(buffer.offset), at);
      take(b_.CreateAlignedLoad(vector, place, llvm::Align(2)), slot);
    });
  }

  // A bf16 of biased exponent e is a multiple of 2^(e - 134), so products are multiples of 2^(ea + eb - 268).
  llvm::Value *sumsAreNormal(llvm::AllocaInst *leastA, llvm::AllocaInst *leastB) {
    auto exponent = [&](llvm::AllocaInst *slot) {
      llvm::Value *least = b_.CreateIntMinReduce(b_.CreateLoad(slot->getAllocatedType(), slot), false);
      least = b_.CreateAdd(b_.CreateZExt(least, b_.getInt32Ty()), b_.getInt32(1));
      return b_.CreateLShr(least, 7);
    };
    llvm::Value *a = exponent(leastA), *b = exponent(leastB);
    llvm::Value *isNormal = b_.CreateAnd(b_.CreateIsNotNull(a), b_.CreateIsNotNull(b));
    return b_.CreateAnd(isNormal, b_.CreateICmpUGE(b_.CreateAdd(a, b), b_.getInt32(268 - 126)));
  }

  // Words of what follows each other along K in a column, row by row.
  Buffer inWords(const Buffer &b, llvm::AllocaInst *least = nullptr) {
    Buffer words{computed_, {batches_ * k_ / together_, n_}, 0};
    words.offset = reserve(words);
    unsigned bits = 32 / together_;
    llvm::Type *vector = p_.lanesOf(b_.getIntNTy(bits), lanes_);
    p_.loop(b_.getInt64(0), b_.getInt64(batches_ * k_ / together_), 1, "words", [&](llvm::Value *row) {
      p_.loop(b_.getInt64(0), b_.getInt64(n_), lanes_, "columns", [&](llvm::Value *column) {
        llvm::Value *to = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(n_)), column);
        SmallVector<llvm::Value *, 4> rows;
        for (unsigned i = 0; i < together_; ++i) { // lanes past the row are overwritten by the next one
          llvm::Value *k = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(together_)), b_.getInt64(i));
          llvm::Value *from = b_.CreateAdd(b_.CreateMul(k, b_.getInt64(n_)), column);
          llvm::Value *place = b_.CreateGEP(vector->getScalarType(), p_.scratchAt(b.offset), from);
          rows.push_back(b_.CreateAlignedLoad(vector, place, llvm::Align(bits / 8)));
        }
        llvm::Value *place = b_.CreateGEP(b_.getInt32Ty(), p_.scratchAt(words.offset), to);
        if (least) {
          llvm::Type *whole = p_.lanesOf(b_.getInt32Ty(), lanes_);
          llvm::Value *odd = b_.CreateShl(b_.CreateZExt(rows[1], whole), 16);
          llvm::Value *pairs = b_.CreateOr(b_.CreateZExt(rows[0], whole), odd);
          take(pairs, least);
          b_.CreateAlignedStore(pairs, place, llvm::Align(4));
          return;
        }
        for (auto [i, part] : llvm::enumerate(interleave(b_, rows)))
          b_.CreateAlignedStore(part,
                                b_.CreateConstGEP1_64(b_.getInt8Ty(), place, i * uint64_t(lanes_) * bits / 8),
                                llvm::Align(4));
      });
    });
    return words;
  }

  // a + 128 in bytes of its own: others may read a's.
  Buffer unsignedBytes(const Buffer &a) {
    Buffer bytes = a;
    bytes.offset = reserve(bytes);
    llvm::Type *vector = p_.lanesOf(b_.getInt32Ty(), lanes_);
    p_.loop(b_.getInt64(0), b_.getInt64(a.elements()), 4 * lanes_, "unsigned", [&](llvm::Value *at) {
      auto place = [&](const Buffer &buffer) {
        return b_.CreateGEP(b_.getInt8Ty(), p_.scratchAt(buffer.offset), at);
      };
      llvm::Value *some = b_.CreateAlignedLoad(vector, place(a), llvm::Align(1));
      b_.CreateAlignedStore(b_.CreateXor(some, allBytes(0x80)), place(bytes), llvm::Align(1));
    });
    return bytes;
  }

  llvm::Value *allBytes(uint8_t byte) {
    return b_.CreateVectorSplat(lanes_, b_.getInt32(0x01010101u * byte));
  }

  llvm::Value *matrix(const Buffer &buffer, llvm::Value *batch, int64_t elements) {
    llvm::Value *offset = b_.CreateMul(batch, b_.getInt64(elements * bytes_));
    return b_.CreateGEP(b_.getInt8Ty(), p_.scratchAt(buffer.offset), offset);
  }

  // Panels of two vectors of columns; what is left is one panel, its last vector masked.
  void columns() {
    int64_t panel = 2 * lanes_, full = n_ / panel * panel;
    p_.loop(b_.getInt64(0), b_.getInt64(full), panel, "n", [&](llvm::Value *n) { rows(n, panel); });
    if (full != n_)
      rows(b_.getInt64(full), n_ - full);
  }

  void rows(llvm::Value *n, int64_t width) {
    if (together_ == 4)
      sumColumns(n, width);
    int64_t rows = std::min<int64_t>(maxRows_, m_), full = m_ / rows * rows;
    p_.loop(b_.getInt64(0), b_.getInt64(full), rows, "m", [&](llvm::Value *m) { kernel(m, n, rows, width); });
    if (full != m_)
      kernel(b_.getInt64(full), n, m_ - full, width);
  }

  // 128 times the sum of each column of b: what a + 128 in place of a adds to the product.
  void sumColumns(llvm::Value *n, int64_t width) {
    llvm::Type *vector = p_.lanesOf(element_, lanes_);
    surplus_.clear();
    for (int64_t v = 0; v * lanes_ < width; ++v) {
      llvm::AllocaInst *sum = p_.temporary(vector, "surplus");
      b_.CreateStore(llvm::Constant::getNullValue(vector), sum);
      p_.loop(b_.getInt64(0), b_.getInt64(k_), 1, "k", [&](llvm::Value *k) {
        llvm::Value *place = at(rhs_, k, n_, b_.CreateAdd(n, b_.getInt64(v * lanes_)));
        llvm::Value *words = b_.CreateAlignedLoad(vector, place, llvm::Align(bytes_));
        b_.CreateStore(multiplyAdd(allBytes(0x80), words, b_.CreateLoad(vector, sum)), sum);
      });
      surplus_.push_back(sum);
    }
  }

  llvm::Value *at(llvm::Value *matrix, llvm::Value *row, int64_t width, llvm::Value *column) {
    llvm::Value *index = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(width)), column);
    return b_.CreateGEP(element_, matrix, index);
  }

  // c[m.., n..] += a[m.., :] b[:, n..] for `rows` rows and `width` columns.
  void kernel(llvm::Value *m, llvm::Value *n, int64_t rows, int64_t width) {
    int64_t vectors = (width + lanes_ - 1) / lanes_, last = width - (vectors - 1) * lanes_;
    llvm::Type *vector = p_.lanesOf(element_, lanes_);
    llvm::Align align(bytes_);
    bool isFromZero = inPairs_ && !isWidened_; // an element of c may be subnormal
    SmallVector<llvm::AllocaInst *> acc;
    SmallVector<llvm::Value *> places;
    llvm::Value *mask = nullptr;
    if (last != lanes_) {
      SmallVector<llvm::Constant *> bits;
      for (int64_t i = 0; i < lanes_; ++i)
        bits.push_back(b_.getInt1(i < last));
      mask = llvm::ConstantVector::get(bits);
    }
    auto isRagged = [&](int64_t v) { return mask && v == vectors - 1; };
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        places.push_back(
            at(c_, b_.CreateAdd(m, b_.getInt64(r)), n_, b_.CreateAdd(n, b_.getInt64(v * lanes_))));
        acc.push_back(p_.temporary(vector, "acc"));
        llvm::Value *initial =
            isFromZero    ? llvm::Constant::getNullValue(vector)
            : isRagged(v) ? static_cast<llvm::Value *>(b_.CreateMaskedLoad(
                                vector, places.back(), align, mask, llvm::Constant::getNullValue(vector)))
                          : b_.CreateAlignedLoad(vector, places.back(), align);
        if (together_ == 4)
          initial = b_.CreateSub(initial, b_.CreateLoad(vector, surplus_[v]));
        b_.CreateStore(initial, acc.back());
      }
    int64_t unroll = k_ % p_.machine.productCopies == 0 && !isWidened_ ? p_.machine.productCopies : 1;
    p_.loop(b_.getInt64(0), b_.getInt64(k_), unroll, "k", [&](llvm::Value *first) {
      for (int64_t u = 0; u < unroll; ++u) {
        llvm::Value *k = b_.CreateAdd(first, b_.getInt64(u));
        SmallVector<llvm::Value *> columns;
        for (int64_t v = 0; v < vectors; ++v) {
          llvm::Value *place = at(rhs_, k, n_, b_.CreateAdd(n, b_.getInt64(v * lanes_)));
          columns.push_back(b_.CreateAlignedLoad(vector, place, align)); // lanes past the row are not stored
        }
        for (int64_t r = 0; r < rows; ++r) {
          llvm::Value *factor =
              b_.CreateAlignedLoad(element_, at(a_, b_.CreateAdd(m, b_.getInt64(r)), k_, k), align);
          factor = p_.splat(factor, lanes_);
          for (int64_t v = 0; v < vectors; ++v) {
            llvm::AllocaInst *slot = acc[r * vectors + v];
            b_.CreateStore(multiplyAdd(factor, columns[v], b_.CreateLoad(vector, slot)), slot);
          }
        }
      }
    });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        llvm::Value *total = b_.CreateLoad(vector, acc[r * vectors + v]);
        if (isFromZero)
          total = b_.CreateFAdd(b_.CreateAlignedLoad(vector, places[r * vectors + v], align), total);
        if (isRagged(v))
          b_.CreateMaskedStore(total, places[r * vectors + v], align, mask);
        else
          b_.CreateAlignedStore(total, places[r * vectors + v], align);
      }
  }

  llvm::Value *multiplyAdd(llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
    if (inPairs_)
      return isWidened_ ? sumOfWidened(x, y, sum) : sumOfPairs(x, y, sum);
    if (together_ > 1)
      return sumOfProducts(x, y, sum);
    if (element_->isIntegerTy())
      return b_.CreateAdd(b_.CreateMul(x, y), sum);
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, sum});
  }

  // Each lane: sum + the products of the bf16 halves of two words.
  llvm::Value *sumOfPairs(llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
    llvm::Type *halves = p_.lanesOf(b_.getBFloatTy(), 2 * lanes_);
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512,
                              {sum, b_.CreateBitCast(x, halves), b_.CreateBitCast(y, halves)});
  }

  // The same with the subnormal ones.
  llvm::Value *sumOfWidened(llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
    llvm::Type *words = p_.lanesOf(b_.getInt32Ty(), lanes_);
    auto widened = [&](llvm::Value *value, bool isHigh) {
      llvm::Value *bits = b_.CreateBitCast(value, words);
      bits = isHigh ? b_.CreateAnd(bits, 0xffff0000u) : b_.CreateShl(bits, 16);
      return b_.CreateBitCast(bits, sum->getType());
    };
    for (bool isHigh : {false, true})
      sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()},
                               {widened(x, isHigh), widened(y, isHigh), sum});
    return sum;
  }

  // Each lane: sum + the products of the bytes, or halves, of two words.
  llvm::Value *sumOfProducts(llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
    bool whole = lanes_ == 16, half = lanes_ == 8;
    llvm::Type *parts = p_.lanesOf(b_.getIntNTy(32 / together_), together_ * lanes_);
    llvm::Value *a = b_.CreateBitCast(x, parts), *c = b_.CreateBitCast(y, parts);
    if (together_ == 4)
      return b_.CreateIntrinsic(whole ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                      : llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                                {sum, a, c});
    auto pairs = whole  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                 : half ? llvm::Intrinsic::x86_avx2_pmadd_wd
                        : llvm::Intrinsic::x86_sse2_pmadd_wd;
    return b_.CreateAdd(sum, b_.CreateIntrinsic(pairs, {a, c}));
  }

  void narrow(const Buffer &result, const Buffer &c) {
    llvm::Type *small = p_.type(result.element);
    p_.loop(b_.getInt64(0), b_.getInt64(c.elements()), 1, "narrow", [&](llvm::Value *i) {
      llvm::Value *wide = b_.CreateLoad(element_, b_.CreateGEP(element_, p_.scratchAt(c.offset), i));
      b_.CreateStore(roundTo(p_, wide, small), b_.CreateGEP(small, p_.scratchAt(result.offset), i));
    });
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  DotOp dot_;
  int64_t batches_, m_, n_, k_, lanes_, bytes_, maxRows_;
  Type computed_;
  llvm::Type *element_;
  unsigned together_ = 1;  // along K, in one word
  bool inPairs_ = false;   // words of two bf16
  bool isWidened_ = false; // their halves, for the kernel that is emitted now
  SmallVector<llvm::AllocaInst *> surplus_;
  llvm::Value *a_ = nullptr, *rhs_ = nullptr, *c_ = nullptr;
};

} // namespace

void ProgramEmitter::emitDot(Operation *op) { DotEmitter(*this, cast<DotOp>(op)).emit(); }

} // namespace tegula::cpu
