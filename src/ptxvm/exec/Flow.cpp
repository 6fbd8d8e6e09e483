// Immediate post-dominators of a kernel's basic blocks: where the lanes of a warp that part at a
// branch come together again. After Cooper, Harvey and Kennedy, "A simple, fast dominance
// algorithm", on the reversed graph with one exit added.
#include "ptxvm/exec/DecodedKernel.h"

#include <algorithm>

namespace tegula::ptxvm {
namespace {

struct Graph {
  std::vector<uint32_t> starts;                      // first instruction of each block
  std::vector<std::vector<uint32_t>> next, previous; // the last block is the end; exits have no edge to it
  std::vector<uint32_t> exits;
};

bool endsBlock(const Instruction &instruction) {
  std::string_view name = instruction.form->lower;
  return name == "Bra" || name == "BrxIdx" || name == "Exit" || name == "Trap";
}

Graph makeGraph(const PtxKernel &kernel) {
  auto count = uint32_t(kernel.instructions.size());
  std::vector<bool> leads(count + 1, false);
  leads[0] = leads[count] = true;
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction &instruction = kernel.instructions[i];
    if (!endsBlock(instruction))
      continue;
    leads[i + 1] = true;
    if (instruction.form->lower == "Bra")
      leads[kernel.operands[instruction.firstOperand].index] = true;
    if (instruction.form->lower == "BrxIdx")
      for (uint32_t target : kernel.targets[kernel.operands[instruction.firstOperand + 1].index])
        leads[target] = true;
  }
  Graph graph;
  std::vector<uint32_t> blockOf(count + 1);
  for (uint32_t i = 0; i <= count; ++i) {
    if (leads[i])
      graph.starts.push_back(i);
    blockOf[i] = uint32_t(graph.starts.size() - 1);
  }
  auto blocks = uint32_t(graph.starts.size()); // the one at `count` is the exit
  graph.next.resize(blocks);
  graph.previous.resize(blocks);
  auto edge = [&](uint32_t from, uint32_t to) {
    graph.next[from].push_back(to);
    graph.previous[to].push_back(from);
  };
  uint32_t exit = blocks - 1;
  for (uint32_t block = 0; block + 1 < blocks; ++block) {
    const Instruction &last = kernel.instructions[graph.starts[block + 1] - 1];
    std::string_view name = last.form->lower;
    bool guarded = last.guard.kind == OperandKind::Register;
    if (name == "Bra")
      edge(block, blockOf[kernel.operands[last.firstOperand].index]);
    else if (name == "BrxIdx")
      for (uint32_t target : kernel.targets[kernel.operands[last.firstOperand + 1].index])
        edge(block, blockOf[target]);
    else if (name == "Exit" || name == "Trap")
      graph.exits.push_back(block);
    if (!endsBlock(last) || guarded)
      edge(block, block + 1);
  }
  if (!graph.previous[exit].empty())
    graph.exits.push_back(exit);
  return graph;
}

// Blocks from which the exit can be reached, the exit first, each after a successor (reverse
// postorder of the reversed graph). Without recursion: a graph may be a long chain.
std::vector<uint32_t> orderFromExit(const Graph &graph) {
  auto exit = uint32_t(graph.starts.size() - 1);
  std::vector<uint32_t> postorder;
  std::vector<bool> seen(graph.starts.size(), false);
  std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[block, at] = stack.back();
    if (at < graph.previous[block].size()) {
      uint32_t next = graph.previous[block][at++];
      if (!seen[next]) {
        seen[next] = true;
        stack.push_back({next, 0});
      }
    } else {
      postorder.push_back(block);
      stack.pop_back();
    }
  }
  std::reverse(postorder.begin(), postorder.end());
  return postorder;
}

// How many blocks come to `block`, itself included.
size_t countReaching(const Graph &graph, uint32_t block) {
  std::vector<bool> seen(graph.starts.size(), false);
  std::vector<uint32_t> stack{block};
  seen[block] = true;
  size_t count = 0;
  while (!stack.empty()) {
    uint32_t at = stack.back();
    stack.pop_back();
    ++count;
    for (uint32_t before : graph.previous[at])
      if (!seen[before]) {
        seen[before] = true;
        stack.push_back(before);
      }
  }
  return count;
}

// The exit that most blocks come to: the kernel's own end, beside early returns.
uint32_t mainExit(const Graph &graph) {
  constexpr size_t most = 64; // enough to find it; a kernel with more is given its last one
  uint32_t best = graph.exits.back();
  size_t bestCount = 0;
  for (size_t i = graph.exits.size(); i-- > 0 && graph.exits.size() <= most;)
    if (size_t count = countReaching(graph, graph.exits[i]); count > bestCount) {
      best = graph.exits[i];
      bestCount = count;
    }
  return best;
}

// Fills in joins that are not known yet.
void addJoins(const Graph &graph, std::vector<uint32_t> &joins) {
  auto exit = uint32_t(graph.starts.size() - 1);
  std::vector<uint32_t> order = orderFromExit(graph);
  std::vector<uint32_t> number(graph.starts.size(), nowhere), dominator(graph.starts.size(), nowhere);
  for (uint32_t i = 0; i < order.size(); ++i)
    number[order[i]] = i;
  dominator[exit] = exit;
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] > number[b])
        a = dominator[a];
      while (number[b] > number[a])
        b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block : order) {
      if (block == exit)
        continue;
      uint32_t best = nowhere;
      for (uint32_t next : graph.next[block])
        if (number[next] != nowhere && dominator[next] != nowhere)
          best = best == nowhere ? next : meet(best, next);
      if (best != dominator[block]) {
        dominator[block] = best;
        changed = true;
      }
    }
  }
  for (uint32_t block = 0; block < exit; ++block) {
    uint32_t &join = joins[graph.starts[block + 1] - 1];
    if (join == nowhere && dominator[block] != nowhere && dominator[block] != exit)
      join = graph.starts[dominator[block]];
  }
}

} // namespace

// Lanes that leave early are not waited for: an early return does not keep the others apart. So
// only the main exit counts first; regions that come to other exits only are looked at by themselves.
Joins findJoins(const PtxKernel &kernel) {
  Joins joins;
  joins.places.assign(kernel.instructions.size(), nowhere);
  joins.areSoft.assign(kernel.instructions.size(), false);
  Graph graph = makeGraph(kernel);
  if (graph.exits.empty())
    return joins;
  auto end = uint32_t(graph.starts.size() - 1);
  auto connect = [&](uint32_t block) {
    if (block == end)
      return;
    graph.next[block].push_back(end);
    graph.previous[end].push_back(block);
  };
  uint32_t main = mainExit(graph);
  connect(main);
  addJoins(graph, joins.places);
  for (uint32_t block : graph.exits)
    if (block != main)
      connect(block);
  std::vector<uint32_t> strict(kernel.instructions.size(), nowhere);
  addJoins(graph, strict);
  for (size_t i = 0; i < strict.size(); ++i) {
    joins.areSoft[i] = joins.places[i] != strict[i];
    if (joins.places[i] == nowhere)
      joins.places[i] = strict[i];
  }
  return joins;
}

} // namespace tegula::ptxvm
