#include "tests/worlds/request_notation.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

std::vector<std::string> WordsOf(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t;"), absl::SkipEmpty())) {
    while (absl::ConsumeSuffix(&word, ",")) continue;
    words.emplace_back(word);
  }
  return words;
}

std::vector<std::string> Split(absl::string_view text) { return absl::StrSplit(text, ','); }

RequestGroup& GroupOf(CandidateRequest& request, absl::string_view suffix) {
  for (RequestGroup& group : request.groups) {
    if (group.suffix == suffix) return group;
  }
  RequestGroup& group = request.groups.emplace_back();
  group.suffix = std::string(suffix);
  return group;
}

void AddAmounts(std::vector<NamedAmount>& amounts, absl::string_view value) {
  for (const std::string& item : Split(value)) {
    const std::vector<std::string> pair = absl::StrSplit(item, ':');
    BERTH_CHECK(pair.size() == 2);
    NamedAmount& wanted = amounts.emplace_back();
    wanted.resource_class = pair[0];
    BERTH_CHECK(absl::SimpleAtoi(pair[1], &wanted.amount));
  }
}

void AddTraits(RequestGroup& group, absl::string_view value) {
  if (absl::ConsumePrefix(&value, "in:")) {
    group.required.push_back(Split(value));
    return;
  }
  for (absl::string_view trait : absl::StrSplit(value, ',')) {
    if (absl::ConsumePrefix(&trait, "!")) {
      group.forbidden.emplace_back(trait);
    } else {
      group.required.push_back({std::string(trait)});
    }
  }
}

void AddAggregates(World& world, absl::string_view value,
                   std::vector<std::vector<AggregateId>>& member_of,
                   std::vector<AggregateId>& forbidden) {
  const bool forbids = absl::ConsumePrefix(&value, "!");
  absl::ConsumePrefix(&value, "in:");
  std::vector<AggregateId> set;
  for (const std::string& name : Split(value)) set.push_back(world.aggregate(name));
  if (forbids) {
    forbidden.insert(forbidden.end(), set.begin(), set.end());
  } else {
    member_of.push_back(set);
  }
}

void AddRootTraits(CandidateRequest& request, absl::string_view value) {
  if (absl::ConsumePrefix(&value, "in:")) {
    request.root_required.push_back(Split(value));
    return;
  }
  for (absl::string_view trait : absl::StrSplit(value, ',')) {
    if (absl::ConsumePrefix(&trait, "!")) {
      request.root_forbidden.emplace_back(trait);
    } else {
      request.root_required.push_back({std::string(trait)});
    }
  }
}

// What concerns the whole request; false: `key` belongs to a group.
bool AddToRequest(World& world, CandidateRequest& request, absl::string_view key,
                  absl::string_view value) {
  if (key == "root") {
    AddRootTraits(request, value);
  } else if (key == "ss") {
    request.same_subtree.push_back(Split(value));
  } else if (key == "apart") {
    request.isolate.push_back(Split(value));
  } else if (key == "sep") {
    request.separate_subtrees.push_back(Split(value));
  } else if (key == "rootm") {
    AddAggregates(world, value, request.root_member_of, request.root_forbidden_aggregates);
  } else if (key == "limit") {
    BERTH_CHECK(absl::SimpleAtoi(value, &request.limit.emplace()));
  } else {
    return false;
  }
  return true;
}

void AddToGroup(World& world, CandidateRequest& request, absl::string_view key,
                absl::string_view value) {
  const std::vector<std::string> parts = absl::StrSplit(key, absl::MaxSplits('.', 1));
  RequestGroup& group = GroupOf(request, parts.size() > 1 ? parts[1] : "");
  if (parts[0] == "r") {
    AddAmounts(group.resources, value);
  } else if (parts[0] == "q") {
    AddTraits(group, value);
  } else if (parts[0] == "m") {
    AddAggregates(world, value, group.member_of, group.forbidden_aggregates);
  } else if (parts[0] == "max") {
    AddAmounts(group.max_providers, value);
  } else {
    BERTH_CHECK(parts[0] == "t");
    group.in_tree = world.provider(value);
  }
}

}  // namespace

CandidateRequest ParseRequest(World& world, absl::string_view text) {
  CandidateRequest request;
  const std::vector<std::string> words = WordsOf(text);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "none") {
      request.group_policy = GroupPolicy::kNone;
    } else if (words[i] == "iso") {
      request.group_policy = GroupPolicy::kIsolate;
    } else {
      BERTH_CHECK(i + 1 < words.size());
      const std::string& key = words[i];
      const std::string& value = words[++i];
      if (!AddToRequest(world, request, key, value)) AddToGroup(world, request, key, value);
    }
  }
  return request;
}

}  // namespace berth::placement
