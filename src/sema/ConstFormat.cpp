// Python's texts of compile-time values: repr, str, and format with a specification.
#include "sema/Const.h"
#include "sema/Session.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace tegula::sema {

using llvm::APInt;

namespace {

std::string quoted(const std::string &text) {
  bool useDouble = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  char quote = useDouble ? '"' : '\'';
  std::string result(1, quote);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + quote;
}

std::string tupleRepr(const ConstTuple &tuple) {
  const TupleClass *type = tuple.type.get();
  std::string result = (type ? type->name : "") + "(";
  for (size_t i = 0; i < tuple.size(); ++i)
    result += (i ? ", " : "") + (type ? type->fields[i] + "=" : "") + repr(tuple[i]);
  return result + (tuple.size() == 1 && !type ? ",)" : ")");
}

// [[fill]align][sign][#][0][width][,_][.precision][type]
struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, grouping = 0;
  bool alternate = false, zero = false;
  unsigned width = 0;
  std::optional<unsigned> precision;
};

constexpr unsigned widest = 1000; // a field

bool isAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

bool takeNumber(std::string_view &text, unsigned &number) {
  size_t digits = 0;
  for (number = 0; digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])); ++digits)
    if (digits < 5)
      number = number * 10 + static_cast<unsigned>(text[digits] - '0');
  if (digits > 5)
    number = 100000; // refused by the limit on widths
  text.remove_prefix(digits);
  return digits > 0;
}

std::optional<Spec> parseSpec(std::string_view text) {
  Spec spec;
  size_t lead =
      text.empty()
          ? 0
          : std::max<size_t>(1, static_cast<size_t>(llvm::countl_one(static_cast<uint8_t>(text[0]))));
  if (text.size() > lead && isAlign(text[lead])) {
    spec.fill = std::string(text.substr(0, lead));
    spec.align = text[lead];
    text.remove_prefix(lead + 1);
  } else if (!text.empty() && isAlign(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  auto take = [&](std::string_view set) -> char {
    if (text.empty() || set.find(text[0]) == std::string_view::npos)
      return 0;
    char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (char c = take("+- "))
    spec.sign = c;
  spec.alternate = take("#");
  spec.zero = take("0");
  takeNumber(text, spec.width);
  spec.grouping = take(",_");
  if (take(".")) {
    unsigned precision = 0;
    if (!takeNumber(text, precision))
      return std::nullopt;
    spec.precision = precision;
  }
  spec.type = take("bcdeEfFgGnosxX%");
  return text.empty() ? std::optional(spec) : std::nullopt;
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// `prefix` (sign, 0x) stays in front of padding with '='.
std::string pad(const Spec &spec, const std::string &prefix, const std::string &body, char defaultAlign) {
  size_t length = characters(prefix) + characters(body);
  size_t missing = spec.width > length ? spec.width - length : 0;
  char align = spec.align ? spec.align : spec.zero ? '=' : defaultAlign;
  std::string fill = spec.zero && !spec.align ? "0" : spec.fill;
  auto repeat = [&](size_t count) {
    std::string result;
    for (size_t i = 0; i < count; ++i)
      result += fill;
    return result;
  };
  if (align == '<')
    return prefix + body + repeat(missing);
  if (align == '^')
    return repeat(missing / 2) + prefix + body + repeat(missing - missing / 2);
  if (align == '=')
    return prefix + repeat(missing) + body;
  return repeat(missing) + prefix + body;
}

std::string group(const std::string &digits, char separator, unsigned every) {
  size_t whole = digits.find_first_of(".e");
  whole = whole == std::string::npos ? digits.size() : whole;
  std::string result;
  for (size_t i = 0; i < whole; ++i) {
    if (i && (whole - i) % every == 0)
      result += separator;
    result += digits[i];
  }
  return result + digits.substr(whole);
}

std::string signOf(const Spec &spec, bool isNegative) {
  return isNegative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::optional<std::string> formatInteger(const Spec &spec, const APInt &value) {
  if (spec.precision || (spec.zero && spec.grouping && spec.width))
    return std::nullopt;
  unsigned base = spec.type == 'x' || spec.type == 'X' ? 16
                  : spec.type == 'o'                   ? 8
                  : spec.type == 'b'                   ? 2
                                                       : 10;
  if (spec.type == 'c' || (spec.grouping == ',' && base != 10))
    return std::nullopt;
  llvm::SmallString<64> digits;
  value.sext(value.getBitWidth() + 1).abs().toString(digits, base, /*Signed=*/false);
  std::string body = spec.type == 'X' ? digits.str().upper() : digits.str().lower();
  if (spec.grouping)
    body = group(body, spec.grouping, base == 10 ? 3 : 4);
  std::string prefix = signOf(spec, value.isNegative());
  if (spec.alternate && base != 10)
    prefix += std::string("0") + spec.type;
  return pad(spec, prefix, body, '>');
}

// Python's 'g' is C's; without a type it is repr, or 'g' that keeps one digit behind the point.
std::optional<std::string> formatFloat(const Spec &spec, double value) {
  if (spec.zero && spec.grouping && spec.width)
    return std::nullopt;
  bool isPercent = spec.type == '%';
  double magnitude = std::fabs(isPercent ? value * 100 : value);
  bool isNegative = std::signbit(value) && !std::isnan(value);
  std::string body;
  if (!std::isfinite(value)) {
    body = std::isnan(value) ? "nan" : "inf";
    if (spec.type == 'F' || spec.type == 'E' || spec.type == 'G')
      body = std::isnan(value) ? "NAN" : "INF";
  } else if (!spec.type && !spec.precision) {
    body = reprOf(magnitude);
  } else if (!spec.type) {
    return std::nullopt;
  } else {
    char type = isPercent ? 'f' : spec.type == 'n' ? 'g' : spec.type;
    std::string pattern = std::string("%") + (spec.alternate ? "#" : "") + ".*" + type;
    char buffer[2048];
    std::snprintf(buffer, sizeof buffer, pattern.c_str(), static_cast<int>(spec.precision.value_or(6)),
                  magnitude);
    body = buffer;
  }
  if (spec.grouping)
    body = group(body, spec.grouping, 3);
  if (isPercent)
    body += '%';
  return pad(spec, signOf(spec, isNegative), body, '>');
}

std::optional<std::string> formatText(const Spec &spec, const std::string &text) {
  if ((spec.type && spec.type != 's') || spec.sign != '-' || spec.alternate || spec.grouping ||
      spec.align == '=')
    return std::nullopt;
  std::string body = text;
  if (spec.precision && characters(body) > *spec.precision) {
    size_t end = 0;
    for (unsigned kept = 0; end < body.size(); ++end)
      if ((body[end] & 0xC0) != 0x80 && kept++ == *spec.precision)
        break;
    body.resize(end);
  }
  Spec padded = spec;
  if (spec.zero && !spec.align) {
    padded.align = '<';
    padded.fill = "0";
  }
  return pad(padded, "", body, '<');
}

} // namespace

// The shortest digits that read back, in CPython's layout: an exponent below 1e-4 and
// from 1e16 on.
std::string reprOf(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end), digits, sign;
  size_t e = text.find('e');
  int exponent = std::stoi(text.substr(e + 1));
  for (char c : text.substr(0, e))
    if (c == '-')
      sign = "-";
    else if (c != '.')
      digits += c;
  int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = digits.substr(0, 1) + (count > 1 ? "." + digits.substr(1) : "");
    std::string power = std::to_string(std::abs(exponent));
    return sign + mantissa + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return sign + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return sign + digits.substr(0, exponent + 1) + "." + digits.substr(exponent + 1);
}

std::string shortened(std::string_view text) {
  constexpr size_t most = 300, behind = 60;
  if (text.size() <= most)
    return std::string(text);
  size_t head = most - behind, tail = text.size() - behind;
  auto isInside = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (head > 0 && isInside(head))
    --head;
  while (tail < text.size() && isInside(tail))
    ++tail;
  return std::string(text.substr(0, head)) + " ... " + std::string(text.substr(tail));
}

std::string repr(const Const &value) {
  if (get<NoneValue>(value))
    return "None";
  if (auto *flag = get<bool>(value))
    return *flag ? "True" : "False";
  if (auto *integer = get<APInt>(value))
    return llvm::toString(*integer, 10, /*Signed=*/true);
  if (auto *number = get<double>(value))
    return reprOf(*number);
  if (auto *text = get<std::string>(value))
    return quoted(*text);
  if (auto *tuple = tupleOf(value))
    return tupleRepr(*tuple);
  if (auto *type = get<TypeRef>(value)) {
    Type tile{type->element, type->pointer, type->isConst,
              llvm::SmallVector<int64_t, 3>(type->shape.begin(), type->shape.end())};
    return type->whole ? spelling(RecordType{type->whole, tile}) : spelling(tile);
  }
  if (auto *builtin = get<BuiltinRef>(value)) {
    auto [ahead, own] = llvm::StringRef(builtin->name).rsplit('.');
    llvm::StringRef owner = ahead.rsplit('.').second; // of an enumerator its type: SIGNEDNESS.SIGNED
    bool isEnumerator = !owner.empty() && owner.front() >= 'A' && owner.front() <= 'Z';
    return isEnumerator ? (owner + "." + own).str() : "<function " + builtin->name + ">";
  }
  if (auto *module = get<ModuleRef>(value))
    return "<module " + module->name + ">";
  if (auto *function = get<std::shared_ptr<const Function>>(value))
    return "<function " + (*function)->definition->name + ">";
  if (auto *type = get<TupleClassPtr>(value))
    return "<class " + (*type)->name + ">";
  return get<OpaqueRef>(value)->repr;
}

std::string str(const Const &value) {
  auto *text = get<std::string>(value);
  return text ? *text : repr(value);
}

std::optional<std::string> formatConst(const Const &value, std::string_view spec, ConstError &error) {
  if (spec.empty())
    return str(value);
  std::optional<std::string> result;
  if (auto parsed = parseSpec(spec)) {
    if (std::max(parsed->width, parsed->precision.value_or(0)) > widest)
      return error.set(diag::Kind::ConstTooLarge, {std::to_string(widest) + " characters"});
    bool wantsFloat =
        parsed->type && std::string_view("eEfFgG%").find(parsed->type) != std::string_view::npos;
    if (get<double>(value) && (wantsFloat || !parsed->type || parsed->type == 'n')) {
      result = formatFloat(*parsed, *get<double>(value));
    } else if (isInteger(value) && wantsFloat) {
      auto number = toDouble(value, error);
      if (!number)
        return std::nullopt;
      result = formatFloat(*parsed, *number);
    } else if (isInteger(value) && parsed->type != 's') {
      result = formatInteger(*parsed, integerOf(value));
    } else if (auto *text = get<std::string>(value)) {
      result = formatText(*parsed, *text);
    }
  }
  if (!result)
    return error.set(diag::Kind::FormatSpec, {std::string(spec), describeType(value)});
  return result;
}

// One field of `text % values`, from behind its `%` to its type: [-+ #0][width][.precision]type, in the words
// of format(). nullopt: another form.
static std::optional<Spec> parsePercent(std::string_view &text) {
  Spec spec;
  bool isLeft = false;
  for (; !text.empty() && std::string_view("-+ #0").find(text[0]) != text.npos; text.remove_prefix(1)) {
    isLeft |= text[0] == '-';
    spec.zero |= text[0] == '0';
    spec.alternate |= text[0] == '#';
    if (text[0] == '+' || (text[0] == ' ' && spec.sign != '+'))
      spec.sign = text[0];
  }
  takeNumber(text, spec.width);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    unsigned precision = 0;
    takeNumber(text, precision);
    spec.precision = precision;
  }
  if (text.empty() || std::string_view("sdiurxXoeEfFgGc").find(text[0]) == text.npos)
    return std::nullopt;
  spec.type = text[0];
  spec.align = isLeft ? '<' : spec.zero && spec.type != 's' && spec.type != 'r' ? '=' : '>';
  if (spec.align == '=')
    spec.fill = "0";
  spec.zero = false;
  text.remove_prefix(1);
  return spec;
}

static std::optional<std::string> formatField(Spec spec, const Const &value, ConstError &error) {
  if (std::max(spec.width, spec.precision.value_or(0)) > widest)
    return error.set(diag::Kind::ConstTooLarge, {std::to_string(widest) + " characters"});
  char type = spec.type;
  std::optional<std::string> result;
  if (type == 's' || type == 'r') {
    spec.type = 's', spec.sign = '-', spec.alternate = false;
    result = formatText(spec, type == 's' ? str(value) : repr(value));
  } else if (std::string_view("eEfFgG").find(type) != std::string_view::npos && isNumber(value)) {
    auto number = toDouble(value, error);
    if (!number)
      return std::nullopt;
    result = formatFloat(spec, *number);
  } else if (std::string_view("diu").find(type) != std::string_view::npos && isNumber(value)) {
    auto whole = toPythonInt(value, error); // drops the fraction
    if (!whole)
      return std::nullopt;
    spec.type = 'd';
    result = formatInteger(spec, integerOf(*whole));
  } else if (std::string_view("xXo").find(type) != std::string_view::npos && isInteger(value)) {
    result = formatInteger(spec, integerOf(value));
  }
  if (!result)
    error.set(diag::Kind::FormatSpec, {std::string("%") + type, describeType(value)});
  return result;
}

std::optional<Const> formatPercent(const std::string &format, const Const &values, ConstError &error) {
  const ConstTuple *tuple = tupleOf(values);
  std::span<const Const> given = tuple ? std::span<const Const>(*tuple) : std::span(&values, 1);
  std::string result;
  size_t taken = 0;
  for (std::string_view text = format;;) {
    size_t percent = text.find('%');
    result += text.substr(0, percent);
    if (percent == std::string_view::npos)
      break;
    text.remove_prefix(percent + 1);
    if (text.starts_with('%')) {
      result += '%';
      text.remove_prefix(1);
      continue;
    }
    auto spec = parsePercent(text);
    if (!spec || taken == given.size())
      return error.set(diag::Kind::FormatSpec, {format, describeType(values)});
    auto field = formatField(*spec, given[taken++], error);
    if (!field)
      return std::nullopt;
    result += *field;
    if (result.size() > maxConstElements)
      return error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstElements) + " characters"});
  }
  if (taken != given.size())
    return error.set(diag::Kind::FormatSpec, {format, describeType(values)});
  return Const{std::move(result)};
}

} // namespace tegula::sema
