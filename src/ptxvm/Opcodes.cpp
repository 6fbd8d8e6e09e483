// The rows of Opcodes.def, split once into elements, and their matching.
#include "ptxvm/Opcodes.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <map>
#include <unordered_map>

namespace tegula::ptxvm {
namespace {

struct ModifierRow {
  std::string_view name;
  uint32_t ptx, sm;
};
constexpr ModifierRow modifierRows[] = {
#define PTX_MODIFIER(Enum, text, ptx, sm) {text, ptx, sm},
#include "ptxvm/Modifiers.def"
#undef PTX_MODIFIER
};

struct SpecialRow {
  std::string_view name;
  Type type;
  bool changes;
};
constexpr SpecialRow specials[] = {
#define PTX_SPECIAL(Enum, text, type, changes) {text, Type::type, changes},
#include "ptxvm/SpecialRegisters.def"
#undef PTX_SPECIAL
};

std::optional<Modifier> modifierFromName(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Modifier> result;
    for (size_t i = 0; i < std::size(modifierRows); ++i)
      result.emplace(modifierRows[i].name, Modifier(i));
    return result;
  }();
  auto it = table.find(name);
  return it == table.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    size_t end = text.find(at);
    if (std::string_view part = text.substr(0, end); !part.empty())
      result.push_back(part);
    if (end == text.npos)
      break;
    text.remove_prefix(end + 1);
  }
  return result;
}

// One element of a modifier pattern: one of some modifiers, or one of some types.
struct Element {
  std::vector<Modifier> modifiers;
  std::vector<Type> types;
  std::string_view shape; // "k16" of m64nNk16
  bool isOptional = false;
};

constexpr std::string_view rowsOfShape = "m64n";
constexpr unsigned columnStep = 8, mostColumns = 256;

// N of "m64n<N>k16", where `k` is "k16"; 0: another word.
uint16_t columnsOf(std::string_view word, std::string_view k) {
  if (!word.starts_with(rowsOfShape) || !word.ends_with(k))
    return 0;
  std::string_view digits = word.substr(rowsOfShape.size(), word.size() - rowsOfShape.size() - k.size());
  uint16_t columns = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  bool isNumber = code == std::errc() && end == digits.data() + digits.size() && !digits.starts_with('0');
  return isNumber && columns % columnStep == 0 && columns <= mostColumns ? columns : 0;
}

std::vector<Element> compilePattern(std::string_view pattern) {
  std::vector<Element> result;
  for (std::string_view part : split(pattern, ' ')) {
    Element element;
    if (part.ends_with('?')) {
      element.isOptional = true;
      part.remove_suffix(1);
    }
    if (part.starts_with(':')) {
      for (std::string_view type : split(part.substr(1), ',')) {
        assert(typeFromName(type) && "Opcodes.def names a type that Types.def has not");
        element.types.push_back(*typeFromName(type));
      }
    } else if (part.starts_with("m64nN")) {
      element.shape = part.substr(5);
    } else {
      for (std::string_view modifier : split(part, '|')) {
        assert(modifierFromName(modifier) && "Opcodes.def names a modifier that Modifiers.def has not");
        element.modifiers.push_back(*modifierFromName(modifier));
      }
    }
    result.push_back(std::move(element));
  }
  return result;
}

OperandSpec compileOperand(std::string_view text) {
  using Kind = OperandSpec::Kind;
  OperandSpec spec;
  auto take = [&](std::string_view prefix) {
    bool has = text.starts_with(prefix);
    if (has)
      text.remove_prefix(prefix.size());
    return has;
  };
  if (text.ends_with('?')) {
    spec.isOptional = true;
    text.remove_suffix(1);
  }
  if (text.ends_with('_')) {
    spec.maySink = true;
    text.remove_suffix(1);
  }
  if (size_t star = text.find('*'); star != text.npos) {
    spec.ofColumns = text[star + 1] == 'N';
    spec.count = spec.ofColumns ? 0 : uint8_t(text[star + 1] - '0');
    text = text.substr(0, star);
  }
  spec.afterBar = take("|");
  if (take("call")) {
    spec.kind = Kind::Call;
    return spec;
  }
  if (take("md"))
    spec.kind = Kind::MovDestination;
  else if (take("ms"))
    spec.kind = Kind::MovSource;
  else if (take("m"))
    spec.kind = Kind::Address;
  else if (take("vd")) {
    spec.kind = Kind::VectorDestination;
    spec.mayBeWider = true;
  } else if (take("vs")) {
    spec.kind = Kind::VectorSource;
    spec.mayBeWider = true;
  } else if (take("wd")) {
    spec.kind = Kind::Destination;
    spec.mayBeWider = true;
  } else if (take("ws")) {
    spec.kind = Kind::Source;
    spec.mayBeWider = true;
  } else if (take("dw")) {
    spec.kind = Kind::Destination;
    spec.isDouble = true;
  } else if (take("sw")) {
    spec.kind = Kind::Source;
    spec.isDouble = true;
  } else if (take("d"))
    spec.kind = Kind::Destination;
  else if (take("s"))
    spec.kind = Kind::Source;
  else if (take("P"))
    spec.kind = Kind::PredicateOut;
  else if (take("p"))
    spec.kind = Kind::PredicateIn;
  else if (take("l"))
    spec.kind = Kind::Label;
  else if (take("t"))
    spec.kind = Kind::Targets;
  else if (take("i"))
    spec.kind = Kind::Immediate;
  else
    assert(false && "Opcodes.def has an unknown operand");
  if (take(":"))
    spec.type = *typeFromName(text);
  else if (!text.empty())
    spec.slot = int8_t(text[0] - '0');
  return spec;
}

struct Table {
  std::vector<Form> forms;
  std::vector<std::vector<Element>> patterns;
  std::map<std::string_view, std::vector<const Form *>> byMnemonic;
};

const Table &table() {
  static const Table result = [] {
    Table t;
    auto row = [&](std::string_view lower, std::string_view mnemonic, std::string_view modifiers,
                   std::string_view operands, uint32_t ptx, uint32_t sm, int flags) {
      Form form{lower, mnemonic, modifiers, operands, ptx, sm, uint8_t(flags), uint32_t(t.forms.size()), {}};
      for (std::string_view operand : split(operands, ' '))
        form.specs.push_back(compileOperand(operand));
      t.patterns.push_back(compilePattern(modifiers));
      t.forms.push_back(std::move(form));
    };
#define PTX_FORM(lower, mnemonic, modifiers, operands, ptx, sm, flags)                                       \
  row(#lower, mnemonic, modifiers, operands, ptx, sm, flags);
#include "ptxvm/Opcodes.def"
#undef PTX_FORM
    for (const Form &form : t.forms)
      t.byMnemonic[form.mnemonic].push_back(&form);
    return t;
  }();
  return result;
}

} // namespace

std::span<const Form> forms() { return table().forms; }

std::span<const Form *const> formsOf(std::string_view mnemonic) {
  auto it = table().byMnemonic.find(mnemonic);
  if (it == table().byMnemonic.end())
    return {};
  return it->second;
}

std::optional<Spelling> match(const Form &form, std::span<const std::string_view> parts) {
  Spelling spelling;
  spelling.ptx = form.ptx;
  spelling.sm = form.sm;
  size_t at = 0, slot = 0;
  for (const Element &element : table().patterns[form.index]) {
    bool found = false;
    if (at < parts.size()) {
      if (std::optional<Modifier> modifier = modifierFromName(parts[at]))
        for (Modifier one : element.modifiers)
          if (one == *modifier) {
            spelling.modifiers.set(size_t(one));
            found = true;
            // The assembler takes .shared::cta here in every version that has the copy.
            if (one == Modifier::sharedCta && form.mnemonic == "cp")
              continue;
            spelling.ptx = std::max(spelling.ptx, modifierRows[size_t(one)].ptx);
            spelling.sm = std::max(spelling.sm, modifierRows[size_t(one)].sm);
          }
      if (std::optional<Type> type = typeFromName(parts[at]))
        for (Type one : element.types)
          if (one == *type) {
            spelling.types[slot] = one;
            found = true;
          }
      if (uint16_t columns = element.shape.empty() ? 0 : columnsOf(parts[at], element.shape)) {
        spelling.columns = columns;
        found = true;
      }
    }
    slot += !element.types.empty();
    at += found;
    if (!found && !element.isOptional)
      return std::nullopt;
  }
  if (at != parts.size())
    return std::nullopt;
  return spelling;
}

std::string_view name(Modifier modifier) { return modifierRows[size_t(modifier)].name; }

std::optional<Special> specialFromName(std::string_view name) {
  static const auto names = [] {
    std::unordered_map<std::string_view, Special> result;
    for (size_t i = 0; i < std::size(specials); ++i)
      result.emplace(specials[i].name, Special(i));
    return result;
  }();
  auto it = names.find(name);
  return it == names.end() ? std::nullopt : std::optional(it->second);
}
Type typeOf(Special special) { return specials[size_t(special)].type; }
bool changes(Special special) { return specials[size_t(special)].changes; }

} // namespace tegula::ptxvm
