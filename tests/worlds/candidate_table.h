// Expand: a CandidateTable as the messages that it stands for, read as its proto says.
#ifndef BERTH_TESTS_WORLDS_CANDIDATE_TABLE_H_
#define BERTH_TESTS_WORLDS_CANDIDATE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/candidate.pb.h"

namespace berth::services {

// The canonical text of a provider's 16 bytes.
inline std::string UuidAt(const placement::v1::CandidateTable& table, uint32_t place) {
  const std::string digits = absl::BytesToHexString(table.provider_uuids().substr(16 * place, 16));
  return absl::StrCat(digits.substr(0, 8), "-", digits.substr(8, 4), "-", digits.substr(12, 4), "-",
                      digits.substr(16, 4), "-", digits.substr(20));
}

inline void ExpandCandidates(const placement::v1::CandidateTable& table,
                             placement::v1::FindCandidatesResponse* to) {
  int next = 0;
  const auto next_uuid = [&] { return UuidAt(table, table.candidate_providers(next++)); };
  for (const uint32_t number : table.candidate_shapes()) {
    const placement::v1::CandidateShape& shape = table.shapes(static_cast<int>(number));
    placement::v1::Candidate* const candidate = to->add_candidates();
    for (const auto& taken : shape.allocations()) {
      placement::v1::ProviderAllocation* const allocation = candidate->add_allocations();
      allocation->set_provider_uuid(next_uuid());
      *allocation->mutable_resources() = taken.resources();
    }
    for (const auto& served : shape.mappings()) {
      placement::v1::GroupMapping* const mapping = candidate->add_mappings();
      mapping->set_suffix(served.suffix());
      for (uint32_t i = 0; i < served.provider_count(); ++i) {
        mapping->add_provider_uuids(next_uuid());
      }
    }
    candidate->set_root_uuid(next_uuid());
  }
}

inline void ExpandSummaries(const placement::v1::CandidateTable& table,
                            placement::v1::FindCandidatesResponse* to) {
  int row = 0;
  std::string root;
  for (int place = 0; place < table.provider_kinds_size(); ++place) {
    const placement::v1::KindOfProvider& kind =
        table.kinds(static_cast<int>(table.provider_kinds(place)));
    placement::v1::ProviderSummary* const summary = to->add_summaries();
    summary->set_provider_uuid(UuidAt(table, place));
    const uint32_t parent = table.provider_parents(place);
    if (parent == 0) root = summary->provider_uuid();
    if (parent > 0) summary->set_parent_uuid(UuidAt(table, parent - 1));
    summary->set_root_uuid(root);
    summary->set_name(table.provider_names(place));
    *summary->mutable_traits() = kind.traits();
    for (const std::string& name : kind.resource_classes()) {
      placement::v1::ResourceSummary& resource = (*summary->mutable_resources())[name];
      resource.set_capacity(table.capacities(row));
      resource.set_used(table.used(row++));
    }
  }
}

// `from` with its table as candidates and summaries, those by uuid.
inline placement::v1::FindCandidatesResponse Expand(
    const placement::v1::FindCandidatesResponse& from) {
  placement::v1::FindCandidatesResponse to = from;
  to.clear_table();
  ExpandCandidates(from.table(), &to);
  ExpandSummaries(from.table(), &to);
  std::sort(to.mutable_summaries()->begin(), to.mutable_summaries()->end(),
            [](const auto& one, const auto& other) {
              return one.provider_uuid() < other.provider_uuid();
            });
  return to;
}

}  // namespace berth::services

#endif  // BERTH_TESTS_WORLDS_CANDIDATE_TABLE_H_
