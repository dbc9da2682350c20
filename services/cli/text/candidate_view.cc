#include "services/cli/text/candidate_view.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/map.h"
#include "services/cli/text/amounts.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

using Resources = google::protobuf::Map<std::string, int64_t>;

std::string Named(const NamesByUuid& names, const std::string& uuid) {
  const auto found = names.find(uuid);
  return found == names.end() ? uuid : found->second;
}

std::string Words(const Resources& resources) {
  return InWords(Amounts(resources.begin(), resources.end()));
}

// Formats how full the provider would be with `allocation`: "VCPU 26/32, MEMORY_MB 139264/262144".
std::string Then(const pb::ProviderAllocation& allocation, const pb::ProviderSummary& summary) {
  std::string words;
  for (const std::string& name : ClassesOf(allocation.resources())) {
    const auto found = summary.resources().find(name);
    if (found == summary.resources().end()) continue;
    absl::StrAppend(&words, words.empty() ? "" : ", ", name, " ",
                    found->second.used() + allocation.resources().at(name), "/",
                    found->second.capacity());
  }
  return words;
}

}  // namespace

NamesByUuid NamesOf(const google::protobuf::RepeatedPtrField<pb::ProviderSummary>& summaries) {
  NamesByUuid names;
  for (const pb::ProviderSummary& summary : summaries) {
    names[summary.provider_uuid()] = summary.name();
  }
  return names;
}

Table CandidateTable(const pb::FindCandidatesResponse& answer) {
  Table table({{"NUMBER", Column::Kind::kNumber},
               {"PROVIDER", Column::Kind::kText},
               {"ALLOCATES", Column::Kind::kText},
               {"USED AFTERWARDS", Column::Kind::kText},
               {"UUID", Column::Kind::kSpare}});
  std::map<std::string, const pb::ProviderSummary*> summaries;
  for (const pb::ProviderSummary& summary : answer.summaries()) {
    summaries[summary.provider_uuid()] = &summary;
  }
  const NamesByUuid names = NamesOf(answer.summaries());
  int number = 0;
  for (const pb::Candidate& candidate : answer.candidates()) {
    ++number;
    for (const pb::ProviderAllocation& allocation : candidate.allocations()) {
      const auto summary = summaries.find(allocation.provider_uuid());
      table.Add({absl::StrCat(number), Named(names, allocation.provider_uuid()),
                 Words(allocation.resources()),
                 summary == summaries.end() ? "" : Then(allocation, *summary->second),
                 allocation.provider_uuid()});
    }
  }
  return table;
}

Table AllocationTable(const pb::Consumer& consumer, const NamesByUuid& names) {
  Table table({{"PROVIDER", Column::Kind::kText},
               {"CLASS", Column::Kind::kExact},
               {"AMOUNT", Column::Kind::kNumber},
               {"SIZE", Column::Kind::kNumber},
               {"UUID", Column::Kind::kSpare}});
  for (const pb::ProviderAllocation& allocation : consumer.allocations()) {
    for (const std::string& name : ClassesOf(allocation.resources())) {
      const int64_t amount = allocation.resources().at(name);
      table.Add({Named(names, allocation.provider_uuid()), name, absl::StrCat(amount),
                 SizeOf(name, amount), allocation.provider_uuid()});
    }
  }
  return table;
}

Table ConsumerTable(const google::protobuf::RepeatedPtrField<pb::Consumer>& consumers,
                    const NamesByUuid& names) {
  Table table({{"CONSUMER", Column::Kind::kExact},
               {"TYPE", Column::Kind::kText},
               {"PROJECT", Column::Kind::kText},
               {"PROVIDER", Column::Kind::kText},
               {"HOLDS", Column::Kind::kText}});
  for (const pb::Consumer& consumer : consumers) {
    for (const pb::ProviderAllocation& allocation : consumer.allocations()) {
      table.Add({consumer.uuid(), consumer.consumer_type(), consumer.project_id(),
                 Named(names, allocation.provider_uuid()), Words(allocation.resources())});
    }
  }
  return table;
}

std::string ClaimPage(const pb::Consumer& consumer, const NamesByUuid& names,
                      const Screen& screen) {
  return absl::StrCat("consumer    ", consumer.uuid(), "\ngeneration  ", consumer.generation(),
                      "\n\n", AllocationTable(consumer, names).Render(screen));
}

}  // namespace berth::cli
