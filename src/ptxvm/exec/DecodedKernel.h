// A kernel made ready for one launch: one micro-operation an instruction, registers renumbered to
// places in a file, constants and special registers as registers that are never written.
//
// A register is 32 lanes side by side: of uint32_t for types up to 32 bits (zero-extended), of
// uint64_t for 64 bits, two such rows (low halves, high halves) for 128 bits.
#pragma once
#include "ptxvm/Opcodes.h"
#include "ptxvm/Run.h"
#include "ptxvm/float/Lanes.h"

#include <bit>
#include <map>
#include <memory>
#include <type_traits>

namespace tegula::ptxvm {

constexpr unsigned warpSize = 32;
constexpr uint32_t allLanes = ~0u;
constexpr uint32_t nowhere = ~0u; // the place of an operand that is not there, or of `_`

// Generic addresses outside of these windows are the host's own.
constexpr uint64_t sharedWindow = uint64_t(1) << 60;
constexpr uint64_t localWindow = uint64_t(2) << 60;
constexpr uint64_t paramWindow = uint64_t(3) << 60;
constexpr uint64_t windowMask = uint64_t(15) << 60;

struct Warp;
struct Op;
// Executes an operation for the lanes in `mask`, which is not empty.
using Handler = void (*)(Warp &warp, const Op &op, uint32_t mask);

// What the interpreter's loop must do besides calling the handler.
enum class Control : uint8_t {
  None,
  Branch,
  BranchIndexed,
  Exit,
  Trap,
  Barrier,
  Sync,
  Aligned,
  Yield,
  Phase
};

// A load, store, atomic or prefetch.
struct AccessForm {
  Space space = Space::Generic;
  AccessKind kind = AccessKind::Load;
  Semantics semantics = Semantics::Weak;
  Scope scope = Scope::None;
  bool nonCoherent = false;
  bool isBase64 = true;
  bool isSigned = false; // sign-extend to the register
  Type type = Type::B32; // of an element
  uint32_t size = 4, count = 1;
  uint32_t alignment = 0;  // of the address; 0: the width
  bool isCopy = false;     // by cp.async, which goes on behind the instruction
  bool isBarrier = false;  // of an mbarrier
  bool isBulk = false;     // by cp.async.bulk, which goes on behind the instruction
  bool byWarp = false;     // lanes give the addresses, the warp accesses as one: ldmatrix, stmatrix
  uint32_t base = nowhere; // register of the address
  uint64_t offset = 0;
  struct Part {
    uint32_t place = nowhere;
    uint8_t bits = 32; // of the register: 32, 64 or 128
  };
  std::array<Part, 8> results{}, sources{}, compared{};
  Modifier operation = Modifier::add; // of an atomic
  bool hasResult = true;
};

struct Op {
  Handler run = nullptr;
  uint32_t d = nowhere, a = nowhere, b = nowhere, c = nowhere; // places, or numbers of predicates
  uint32_t e = nowhere, p = nowhere;                           // p: a predicate
  uint32_t guard = 0, guardFlip = 0;
  uint32_t instruction = 0;
  uint32_t detail = 0;     // of DecodedKernel::accesses, matrices, conversions, calls
  uint32_t target = 0;     // of a branch
  uint32_t join = nowhere; // where the sides of a branch meet
  bool isSoftJoin = false;
  uint64_t value = 0;
  Control control = Control::None;
  uint8_t mode = 0;  // of the handler's own meaning
  bool flag = false; // .aligned of a barrier, negation of a predicate
  bool flag2 = false;
  uint32_t touched = 0; // of DecodedKernel::touched: 0 where no product has a register of this operation
  FloatFunction function = nullptr;
  LaneMode laneMode;
};

struct MatrixShape; // exec/MatrixShapes.h

// mma: the registers of its fragments.
struct MatrixOp {
  const MatrixShape *shape = nullptr;
  std::array<uint32_t, 4> a{}, b{}, c{}, d{}; // places; d may be `nowhere`
};

// wgmma.mma_async: its operands. Registers of products are numbered by themselves (DecodedKernel::touched).
struct ProductOp {
  uint16_t columns = 0;
  uint8_t k = 0, bits = 0; // of an instruction's K; of an element of A and B
  Type a = Type::F16, b = Type::F16;
  bool isInteger = false, saturates = false;
  bool negatesA = false, negatesB = false, transposesA = false, transposesB = false;
  bool isAInRegisters = false;
  std::vector<uint32_t> d;              // places
  std::array<uint32_t, 4> aRegisters{}; // places
  uint32_t aDescriptor = nowhere, bDescriptor = nowhere;
  std::vector<uint32_t> numbersOfD, numbersOfA;
};

// cp.async.bulk and cp.async.bulk.tensor: which of DecodedKernel::accesses are its place in shared memory, in
// global memory or the map of that, its barrier; the size, or the coordinates, innermost first.
struct BulkOp {
  uint32_t shared = 0, global = 0, barrier = 0;
  bool isTensor = false;
  std::vector<uint32_t> places;
};

struct CallSite {
  std::string name;
  std::vector<uint32_t> arguments; // places in local memory
  uint32_t returned = nowhere;
};

// One buffer, or one variable of the module.
struct Range {
  uint64_t begin = 0, end = 0;
  bool writable = true;
  bool isConst = false;
  std::string name;
};

struct DecodedKernel {
  const PtxKernel *kernel = nullptr;
  std::vector<uint32_t> registerPlaces;  // by register: byte in the file, or number of the predicate
  std::vector<uint64_t> kernelVariables; // by variable: address in its own space
  std::vector<uint64_t> moduleVariables;
  std::vector<Op> ops; // one an instruction, and an exit behind the last
  std::vector<AccessForm> accesses;
  std::vector<MatrixOp> matrices;
  std::vector<ProductOp> products;
  std::vector<BulkOp> bulks;
  // By Op::touched: the registers of products, by number, that an operation other than wgmma reads or writes.
  std::vector<std::vector<uint32_t>> touched{{}};
  uint32_t productRegisters = 0;
  std::vector<Conversion> conversions;
  std::vector<ConvertFunction> convertFunctions;
  std::vector<CallSite> calls;
  std::vector<std::byte> image; // the register file of a new warp
  struct SpecialPlace {
    Special which;
    uint32_t place;
    bool is64;
  };
  std::vector<SpecialPlace> specials;
  std::map<std::pair<uint64_t, bool>, uint32_t> constants; // bits and width 64 -> place
  uint32_t predicates = 1;                                 // number 0 is always true
  uint64_t localBytes = 0, sharedBytes = 0;
  std::vector<std::byte> parameters;
  std::vector<std::unique_ptr<std::byte[]>> storage; // of the module's variables
  std::vector<Range> ranges;                         // sorted by address
  bool overlap = false;                              // some of them do
  bool communicates = false;                         // blocks may wait for each other
};

// Null and a reason when an instruction cannot be executed.
Result<std::unique_ptr<DecodedKernel>> prepare(const Module &module, const PtxKernel &kernel,
                                               const Launch &launch);

// Is the address of an access a pointer that the kernel has loaded, as far as the text says?
bool isLoadedPointer(const PtxKernel &kernel, uint32_t instruction);

// For each instruction the place where control from it comes together again; `nowhere` when only at
// the end of the kernel. Soft where lanes may also leave the kernel on the way: those who arrived
// wait for the others, but not for ever.
struct Joins {
  std::vector<uint32_t> places;
  std::vector<bool> areSoft;
};
Joins findJoins(const PtxKernel &kernel);

} // namespace tegula::ptxvm
