#include "services/client/cpp/candidates.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

constexpr size_t kUuidBytes = 16;
constexpr size_t kUuidLetters = 36;

// The canonical texts of uuids of 16 bytes each.
std::vector<char> UuidTexts(absl::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::vector<char> texts(bytes.size() / kUuidBytes * kUuidLetters);
  char* to = texts.data();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t at = i % kUuidBytes;
    if (at == 4 || at == 6 || at == 8 || at == 10) *to++ = '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    *to++ = kDigits[byte >> 4];
    *to++ = kDigits[byte & 15];
  }
  return texts;
}

// How many providers a candidate of the shape has, its root counted again.
int64_t ProvidersOf(const pb::CandidateShape& shape) {
  int64_t count = shape.allocations_size() + 1;
  for (const pb::ShapeMapping& mapping : shape.mappings()) count += mapping.provider_count();
  return count;
}

absl::Status WrongSpec(absl::string_view key, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat("extra_specs[", key, "]: '", value, "' is not understood"));
}

// Adds what the extra spec asks for.
absl::Status AddSpec(const std::string& key, const std::string& value, pb::RequestGroup* group) {
  absl::string_view name = key;
  if (absl::ConsumePrefix(&name, "resources:")) {
    int64_t amount = 0;
    if (!absl::SimpleAtoi(value, &amount) || amount < 0) return WrongSpec(key, value);
    (*group->mutable_resources())[std::string(name)] = amount;
  } else if (absl::ConsumePrefix(&name, "trait:")) {
    if (value == "required") {
      group->add_required_traits()->add_any_of(std::string(name));
    } else if (value == "forbidden") {
      group->add_forbidden_traits(std::string(name));
    } else {
      return WrongSpec(key, value);
    }
  } else if (absl::StartsWith(key, "resources") || absl::StartsWith(key, "trait")) {
    return WrongSpec(key, value);
  }
  return absl::OkStatus();
}

absl::Status Contradicts(absl::string_view field) {
  return absl::DataLossError("the table of candidates contradicts itself: " + std::string(field));
}

}  // namespace

absl::StatusOr<pb::CandidateQuery> QueryOf(const pb::Flavor& flavor) {
  pb::CandidateQuery query;
  query.set_exclude_stale_roots(true);
  pb::RequestGroup& group = *query.add_groups();
  group.add_forbidden_traits("COMPUTE_STATUS_DISABLED");
  auto& resources = *group.mutable_resources();
  const auto policy = flavor.extra_specs().find("hw:cpu_policy");
  const bool dedicated = policy != flavor.extra_specs().end() && policy->second == "dedicated";
  resources[dedicated ? "PCPU" : "VCPU"] = flavor.vcpus();
  resources["MEMORY_MB"] = flavor.memory_mib();
  const int64_t swap_gib = flavor.swap_mib() / 1024 + (flavor.swap_mib() % 1024 > 0 ? 1 : 0);
  resources["DISK_GB"] = flavor.root_disk_gib() + flavor.ephemeral_disk_gib() + swap_gib;
  for (const auto& [key, value] : flavor.extra_specs()) {
    const absl::Status added = AddSpec(key, value, &group);
    if (!added.ok()) return added;
  }
  for (auto at = resources.begin(); at != resources.end();) {
    at = at->second == 0 ? resources.erase(at) : std::next(at);
  }
  return query;
}

absl::StatusOr<Candidates> Candidates::Of(pb::CandidateTable table) {
  Candidates candidates;
  const size_t known = table.provider_uuids().size() / kUuidBytes;
  if (table.provider_uuids().size() % kUuidBytes != 0) return Contradicts("provider_uuids");
  for (const uint32_t provider : table.candidate_providers()) {
    if (provider >= known) return Contradicts("candidate_providers");
  }
  std::vector<int64_t> sizes;
  for (const pb::CandidateShape& shape : table.shapes()) sizes.push_back(ProvidersOf(shape));
  candidates.roots_.reserve(table.candidate_shapes_size());
  candidates.best_.reserve(table.candidate_shapes_size());
  candidates.uuids_ = UuidTexts(table.provider_uuids());
  candidates.table_ = std::move(table);
  const int64_t all = candidates.table_.candidate_providers_size();
  std::vector<bool> is_known_root(known);
  int64_t next = 0;
  for (const uint32_t shape : candidates.table_.candidate_shapes()) {
    if (shape >= sizes.size() || sizes[shape] > all - next) return Contradicts("candidate_shapes");
    const Place place{static_cast<int>(shape), static_cast<int>(next)};
    next += sizes[shape];
    int last = static_cast<int>(next) - 1;
    const uint32_t root = candidates.table_.candidate_providers(last);
    if (is_known_root[root]) continue;
    is_known_root[root] = true;
    candidates.roots_.push_back(candidates.NextUuid(&last));
    candidates.best_.push_back(place);
  }
  if (next != all) return Contradicts("candidate_providers");
  return candidates;
}

std::optional<pb::Candidate> Candidates::BestOf(absl::string_view root_uuid) const {
  const auto root = std::find(roots_.begin(), roots_.end(), root_uuid);
  if (root == roots_.end()) return std::nullopt;
  const Place& place = best_[root - roots_.begin()];
  const pb::CandidateShape& shape = table_.shapes(place.shape);
  int next = place.providers;
  pb::Candidate candidate;
  for (const pb::ShapeAllocation& taken : shape.allocations()) {
    pb::ProviderAllocation& allocation = *candidate.add_allocations();
    allocation.set_provider_uuid(std::string(NextUuid(&next)));
    *allocation.mutable_resources() = taken.resources();
  }
  for (const pb::ShapeMapping& served : shape.mappings()) {
    pb::GroupMapping& mapping = *candidate.add_mappings();
    mapping.set_suffix(served.suffix());
    for (uint32_t i = 0; i < served.provider_count(); ++i) {
      mapping.add_provider_uuids(std::string(NextUuid(&next)));
    }
  }
  candidate.set_root_uuid(std::string(NextUuid(&next)));
  return candidate;
}

absl::string_view Candidates::NextUuid(int* next) const {
  const uint32_t provider = table_.candidate_providers((*next)++);
  return {uuids_.data() + kUuidLetters * provider, kUuidLetters};
}

}  // namespace berth::client
