#include "tests/worlds/notation.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace berth::placement {
namespace {

[[noreturn]] void BadNotation(absl::string_view text) {
  std::fprintf(stderr, "bad notation: '%.*s'\n", static_cast<int>(text.size()), text.data());
  std::abort();
}

int64_t ParseNumber(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) BadNotation(text);
  return value;
}

// "VCPU:8" as its two parts.
std::pair<std::string, int64_t> ParsePair(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) BadNotation(text);
  return {std::string(absl::StripAsciiWhitespace(text.substr(0, colon))),
          ParseNumber(absl::StripAsciiWhitespace(text.substr(colon + 1)))};
}

void ParseInventory(absl::string_view text, ProviderNotation& provider) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() % 2 != 1) BadNotation(text);
  const auto [resource_class, total] = ParsePair(words[0]);
  Inventory inventory;
  inventory.total = total;
  inventory.max_unit = total;
  for (size_t i = 1; i < words.size(); i += 2) {
    const std::string& word = words[i];
    if (word == "ratio") {
      if (!absl::SimpleAtod(words[i + 1], &inventory.allocation_ratio)) BadNotation(text);
      continue;
    }
    const int64_t value = ParseNumber(words[i + 1]);
    if (word == "reserved") {
      inventory.reserved = value;
    } else if (word == "min") {
      inventory.min_unit = value;
    } else if (word == "max") {
      inventory.max_unit = value;
    } else if (word == "step") {
      inventory.step_size = value;
    } else if (word == "used") {
      provider.used.push_back({resource_class, value});
    } else {
      BadNotation(text);
    }
  }
  provider.inventories.push_back({resource_class, inventory});
}

}  // namespace

std::vector<std::string> SplitNames(absl::string_view text) {
  std::vector<std::string> names;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(part);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

void ParseInventories(absl::string_view text, ProviderNotation& provider) {
  for (const std::string& part : SplitNames(text)) ParseInventory(part, provider);
}

std::vector<NamedAmount> ParseAmounts(absl::string_view text) {
  std::vector<NamedAmount> amounts;
  for (const std::string& part : SplitNames(text)) {
    auto [resource_class, amount] = ParsePair(part);
    amounts.push_back({std::move(resource_class), amount});
  }
  return amounts;
}

ProviderNotation ParseProvider(absl::string_view line) {
  ProviderNotation provider;
  provider.indent = static_cast<int>(line.find_first_not_of(' '));
  absl::string_view rest = absl::StripAsciiWhitespace(line);
  const size_t end = rest.find_first_of("[{(");
  provider.name = std::string(absl::StripAsciiWhitespace(rest.substr(0, end)));
  rest.remove_prefix(end == absl::string_view::npos ? rest.size() : end);
  while (!rest.empty()) {
    const char open = rest[0];
    const size_t close = rest.find(open == '[' ? ']' : open == '{' ? '}' : ')');
    if (close == absl::string_view::npos) BadNotation(line);
    const absl::string_view inside = rest.substr(1, close - 1);
    if (open == '[') {
      provider.traits = SplitNames(inside);
    } else if (open == '{') {
      ParseInventories(inside, provider);
    } else if (open == '(') {
      provider.aggregates = SplitNames(inside);
    } else {
      BadNotation(line);
    }
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(close + 1));
  }
  return provider;
}

}  // namespace berth::placement
