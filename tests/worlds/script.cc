#include "tests/worlds/script.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/safety.h"

namespace berth::placement {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void BadScript(absl::string_view text) {
  std::fprintf(stderr, "bad script: '%.*s'\n", static_cast<int>(text.size()), text.data());
  std::abort();
}

std::string Rest(const Words& words, size_t from) {
  return absl::StrJoin(words.begin() + static_cast<int64_t>(std::min(from, words.size())),
                       words.end(), " ");
}

// "cn1@stale" as the provider and the generation to send.
struct Guarded {
  ProviderId id;
  std::optional<Generation> expected;
};

Guarded ParseGuarded(World& world, const std::string& word) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('@', 1));
  Guarded guarded{world.provider(parts.first), std::nullopt};
  if (!absl::StrContains(word, '@')) return guarded;
  const auto place = world.state().FindProvider(guarded.id);
  guarded.expected = place ? place->config().generation : Generation{1};
  if (parts.second == "stale") guarded.expected->value += 1000;
  return guarded;
}

std::vector<NamedInventory> ParseRows(const std::string& text) {
  ProviderNotation line;
  if (text != "none") ParseInventories(text, line);
  return line.inventories;
}

CommandBody ParseCreate(World& world, const Words& words) {
  CreateProvider create{world.provider(words[1]), words[1], std::nullopt};
  for (size_t i = 2; i + 1 < words.size(); i += 2) {
    if (words[i] == "below") create.parent = world.provider(words[i + 1]);
    if (words[i] == "as") create.id = world.provider(words[i + 1]);
  }
  return create;
}

CommandBody ParseMove(World& world, const Words& words) {
  const Guarded guarded = ParseGuarded(world, words[1]);
  UpdateProvider update{guarded.id, std::nullopt, std::nullopt, guarded.expected};
  update.parent.emplace();
  if (words[2] == "below") *update.parent = world.provider(words[3]);
  return update;
}

CommandBody ParseInventory(World& world, const Words& words) {
  const Guarded guarded = ParseGuarded(world, words[2]);
  if (words[1] == "drop") {
    DeleteInventory drop{guarded.id, guarded.expected, words[3]};
    if (words[3] == "all") drop.resource_class.reset();
    return drop;
  }
  const NamedInventory row = ParseRows(Rest(words, 3)).at(0);
  if (words[1] == "add") return CreateInventory{guarded.id, guarded.expected, row};
  return UpdateInventory{guarded.id, guarded.expected, row};
}

// "c1 new cn1{VCPU:2}", one consumer of a claim.
ConsumerAllocations ParseClaim(World& world, absl::string_view text) {
  Words words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  ConsumerAllocations claim = world.Claim(words.at(0), Rest(words, 2));
  if (words.at(1) == "new") {
    claim.expected_generation.reset();
  } else if (words[1] == "@stale") {
    claim.expected_generation =
        Generation{claim.expected_generation.value_or(Generation{}).value + 1000};
  }
  return claim;
}

// "c1 new cn1{VCPU:2} & c2 @"; nothing names no consumer.
std::vector<ConsumerAllocations> ParseConsumers(World& world, absl::string_view text) {
  std::vector<ConsumerAllocations> consumers;
  for (const absl::string_view part : absl::StrSplit(text, '&', absl::SkipWhitespace())) {
    consumers.push_back(ParseClaim(world, part));
  }
  return consumers;
}

CommandBody ParseClaims(World& world, absl::string_view text) {
  SetAllocations set;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(" for ", 1));
  set.consumers = ParseConsumers(world, parts.first);
  if (!parts.second.empty()) {
    const Words owner = absl::StrSplit(parts.second, '/');
    for (ConsumerAllocations& consumer : set.consumers) {
      consumer.project = owner.at(0);
      consumer.user = owner.at(1);
      consumer.type = owner.at(2);
    }
  }
  return set;
}

DeleteAllocations ParseRelease(World& world, const std::string& word) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('@', 1));
  DeleteAllocations release{world.consumer(parts.first), std::nullopt};
  if (!absl::StrContains(word, '@')) return release;
  release.expected_generation = world.consumer_generation(parts.first).value_or(Generation{1});
  if (parts.second == "stale") release.expected_generation->value += 1000;
  return release;
}

CommandBody ParseAdjust(World& world, const Words& words) {
  const DeleteAllocations who = ParseRelease(world, words[1]);
  return AdjustAllocations{who.consumer, who.expected_generation,
                           world.Claim("nobody", Rest(words, 2)).allocations};
}

// "numa0@ VCPU:8, MEMORY_MB:64".
ReshapedProvider ParseReshaped(World& world, absl::string_view text) {
  const Words words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  const Guarded guarded = ParseGuarded(world, words.at(0));
  const auto place = world.state().FindProvider(guarded.id);
  ReshapedProvider reshaped{guarded.id, guarded.expected, std::nullopt, ParseRows(Rest(words, 1))};
  if (!guarded.expected) return reshaped;
  Generation seen = place ? place->allocation_generation() : Generation{1};
  if (absl::EndsWith(words[0], "@used")) seen.value += 1000;
  if (!absl::EndsWith(words[0], "@half")) reshaped.expected_allocation_generation = seen;
  return reshaped;
}

CommandBody ParseReshape(World& world, absl::string_view text) {
  Reshape reshape;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(" with ", 1));
  for (const absl::string_view part : absl::StrSplit(parts.first, '|', absl::SkipWhitespace())) {
    reshape.providers.push_back(ParseReshaped(world, part));
  }
  reshape.consumers = ParseConsumers(world, parts.second);
  return reshape;
}

// "numa0@ below cn1 named n0 {VCPU:8}[T1](A)".
ProviderTopology ParseTopologyPart(World& world, absl::string_view text) {
  const std::string head(text.substr(0, text.find_first_of("[{(")));
  const absl::string_view tail = text.substr(head.size());
  const Words words = absl::StrSplit(head, ' ', absl::SkipEmpty());
  const ReshapedProvider guard = ParseReshaped(world, words.at(0) + " none");
  ProviderTopology wanted;
  wanted.provider = guard.provider;
  wanted.expected_generation = guard.expected_generation;
  wanted.expected_allocation_generation = guard.expected_allocation_generation;
  if (!wanted.expected_generation) wanted.name = words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "out") wanted.parent.emplace();
    if (words[i] == "below") wanted.parent.emplace(world.provider(words.at(i + 1)));
    if (words[i] == "named") wanted.name = i + 1 < words.size() ? words[i + 1] : "";
  }
  const ProviderNotation notation = ParseProvider(absl::StrCat("x", tail));
  if (absl::StrContains(tail, '{')) wanted.inventories = notation.inventories;
  if (absl::StrContains(tail, '[')) wanted.traits = notation.traits;
  if (absl::StrContains(tail, '(')) {
    wanted.aggregates.emplace();
    for (const std::string& name : notation.aggregates) {
      wanted.aggregates->push_back(world.aggregate(name));
    }
  }
  return wanted;
}

CommandBody ParseTopology(World& world, absl::string_view text) {
  ApplyTopology topology;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(" with ", 1));
  for (absl::string_view part : absl::StrSplit(parts.first, '|', absl::SkipWhitespace())) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&part, "-")) {
      const Guarded guarded = ParseGuarded(world, std::string(part));
      topology.removed.push_back({guarded.id, guarded.expected});
    } else {
      topology.providers.push_back(ParseTopologyPart(world, part));
    }
  }
  topology.consumers = ParseConsumers(world, parts.second);
  return topology;
}

CommandBody ParseLease(World& world, const Words& words) {
  const DeleteAllocations who = ParseRelease(world, words.at(1));
  SetLease set{who.consumer, who.expected_generation, std::nullopt};
  int64_t seconds = 0;
  if (absl::SimpleAtoi(words.at(2), &seconds)) set.lease = absl::Seconds(seconds);
  return set;
}

CommandBody ParseCatalog(const Words& words) {
  const std::string name = words.size() > 2 ? words[2] : "";
  if (words[0] == "class") {
    if (words[1] == "delete") return DeleteClass{name};
    return CreateClass{name, words[1] == "ensure"};
  }
  if (words[1] == "delete") return DeleteTrait{name};
  return EnsureTrait{name};
}

}  // namespace

CommandBody ParseCommand(World& world, absl::string_view text) {
  const Words words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() < 2) BadScript(text);
  const std::string& verb = words[0];
  if (verb == "create") return ParseCreate(world, words);
  if (verb == "move") return ParseMove(world, words);
  if (verb == "inventory") return ParseInventory(world, words);
  if (verb == "class" || verb == "trait") return ParseCatalog(words);
  if (verb == "claim") return ParseClaims(world, text.substr(text.find(' ') + 1));
  if (verb == "release") return ParseRelease(world, words[1]);
  if (verb == "adjust") return ParseAdjust(world, words);
  if (verb == "reshape") return ParseReshape(world, text.substr(text.find(' ') + 1));
  if (verb == "topology") return ParseTopology(world, text.substr(text.find(' ') + 1));
  if (verb == "lease") return ParseLease(world, words);
  if (verb == "expire") return ExpireLeases();
  if (verb == "drop") {
    ReleaseConsumers drop;
    for (size_t i = 1; i < words.size(); ++i) {
      drop.consumers.push_back(ParseRelease(world, words[i]));
    }
    return drop;
  }
  const Guarded guarded = ParseGuarded(world, words[1]);
  const std::string rest = Rest(words, 2);
  if (verb == "rename") return UpdateProvider{guarded.id, rest, std::nullopt, guarded.expected};
  if (verb == "delete") return DeleteProvider{guarded.id};
  if (verb == "inventories") return SetInventories{guarded.id, guarded.expected, ParseRows(rest)};
  if (verb == "clear") return ClearProviderTraits{guarded.id, guarded.expected};
  if (verb == "traits") {
    return SetProviderTraits{guarded.id, guarded.expected,
                             rest == "none" ? Words{} : SplitNames(rest)};
  }
  if (verb == "aggregates") {
    SetProviderAggregates set{guarded.id, guarded.expected, {}};
    for (const std::string& name : SplitNames(rest))
      set.aggregates.push_back(world.aggregate(name));
    return set;
  }
  BadScript(text);
}

absl::StatusCode CodeOf(absl::string_view reason) {
  using Code = absl::StatusCode;
  static const auto* const codes = new std::map<absl::string_view, Code>{
      {"INVALID_FIELD", Code::kInvalidArgument},
      {"GENERATION_REQUIRED", Code::kInvalidArgument},
      {"INVALID_NAME", Code::kInvalidArgument},
      {"DUPLICATE_PARAMETER", Code::kInvalidArgument},
      {"SELF_PARENT", Code::kInvalidArgument},
      {"PROVIDER_LOOP", Code::kInvalidArgument},
      {"STANDARD_IMMUTABLE", Code::kInvalidArgument},
      {"INVALID_INVENTORY", Code::kInvalidArgument},
      {"PROVIDER_NOT_FOUND", Code::kNotFound},
      {"PARENT_NOT_FOUND", Code::kNotFound},
      {"RESOURCE_CLASS_NOT_FOUND", Code::kNotFound},
      {"TRAIT_NOT_FOUND", Code::kNotFound},
      {"INVENTORY_NOT_FOUND", Code::kNotFound},
      {"CONSUMER_NOT_FOUND", Code::kNotFound},
      {"SERVICE_NOT_FOUND", Code::kNotFound},
      {"NODE_NOT_FOUND", Code::kNotFound},
      {"HOST_NOT_FOUND", Code::kNotFound},
      {"RECORD_CONFLICT", Code::kAborted},
      {"DUPLICATE_NODE", Code::kAlreadyExists},
      {"EVACUATION_PENDING", Code::kFailedPrecondition},
      {"SERVICE_NOT_FORCED_DOWN", Code::kFailedPrecondition},
      {"NOT_REPAIRABLE", Code::kFailedPrecondition},
      {"DUPLICATE_PROVIDER", Code::kAlreadyExists},
      {"RESOURCE_CLASS_EXISTS", Code::kAlreadyExists},
      {"INVENTORY_EXISTS", Code::kAlreadyExists},
      {"PROVIDER_GENERATION_CONFLICT", Code::kAborted},
      {"CONSUMER_GENERATION_CONFLICT", Code::kAborted},
      {"TRACKER_FENCED", Code::kAborted},
      {"PROVIDER_HAS_CHILDREN", Code::kFailedPrecondition},
      {"PROVIDER_IN_USE", Code::kFailedPrecondition},
      {"RESOURCE_CLASS_IN_USE", Code::kFailedPrecondition},
      {"TRAIT_IN_USE", Code::kFailedPrecondition},
      {"INVENTORY_IN_USE", Code::kFailedPrecondition},
      {"NEGATIVE_ALLOCATION", Code::kFailedPrecondition},
      {"NO_INVENTORY", Code::kFailedPrecondition},
      {"UNIT_CONSTRAINT_VIOLATED", Code::kFailedPrecondition},
      {"SERVICE_NOT_REGISTERED", Code::kFailedPrecondition},
      {"SERVICE_IN_USE", Code::kFailedPrecondition},
      {"REPORT_GAP", Code::kFailedPrecondition},
      {"CAPACITY_EXCEEDED", Code::kResourceExhausted},
      {"DAILY_LIMIT_REACHED", Code::kResourceExhausted},
      {"POLICY_DENIED", Code::kPermissionDenied},
  };
  const auto found = codes->find(reason);
  if (found == codes->end()) BadScript(reason);
  return found->second;
}

void RunScript(World& world, absl::string_view script) {
  int number = 0;
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t gap = line.rfind("  ");
    if (gap == absl::string_view::npos) BadScript(line);
    const std::string expected(absl::StripAsciiWhitespace(line.substr(gap)));
    SCOPED_TRACE(testing::Message() << "script line " << number << ": " << line);
    const std::string before = world.Text();
    const absl::StatusOr<Outcome> outcome =
        world.Do(ParseCommand(world, absl::StripAsciiWhitespace(line.substr(0, gap))));
    if (outcome.ok()) {
      EXPECT_EQ(expected, "OK");
    } else {
      const std::optional<Refusal> refusal = RefusalOf(outcome.status());
      EXPECT_EQ(refusal ? refusal->reason : outcome.status().ToString(), expected)
          << outcome.status().message();
      if (expected != "OK") {
        EXPECT_EQ(outcome.status().code(), CodeOf(expected));
      }
      EXPECT_FALSE(outcome.status().message().empty());
      EXPECT_EQ(world.Text(), before);  // P-237: a refusal leaves no trace
    }
    CheckSafety(world.state());
  }
}

}  // namespace berth::placement
