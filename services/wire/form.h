// What every conversion between protos and the domain needs: faults of form that only protos can
// have, ids, revisions, times, names. Pure.
//
// The rules check what a command says; the converters (wire_*.h) check only what would be lost on
// the way: the spelling of uuids, required messages, fields that this release does not offer. Field
// paths are written as in the protos, e.g. `consumers[0].consumer_uuid`.
#ifndef BERTH_SERVICES_WIRE_FORM_H_
#define BERTH_SERVICES_WIRE_FORM_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/placement/v1/revision.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"
#include "placement/values/catalog.h"
#include "placement/values/refusal.h"
#include "placement/values/types.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// Returns from the calling function with the status of `expression` unless it is OK.
#define BERTH_RETURN_IF_ERROR(expression)                                   \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// INVALID_ARGUMENT / INVALID_FIELD: "FIELD WHY".
absl::Status InvalidField(absl::string_view field, absl::string_view why);
// UNIMPLEMENTED / NOT_OFFERED: this release does not do what `field` asks for.
absl::Status NotOffered(absl::string_view field);

// Refuses U+0000 in any string of `message`, wherever it stands: PostgreSQL cannot hold it.
absl::Status CheckText(const google::protobuf::Message& message);
// 1 to 128 printable ASCII characters, or none.
absl::Status CheckRequestId(absl::string_view request_id);

// The field by which most requests name their provider.
inline constexpr char kProviderField[] = "provider_uuid";

// The id that `text` spells (P-6).
template <typename IdType>
absl::StatusOr<IdType> ParseId(absl::string_view field, absl::string_view text) {
  const std::optional<IdType> id = IdType::Parse(text);
  if (!id) return InvalidField(field, text.empty() ? "is required" : "is not a uuid");
  return *id;
}

// The ids that `texts` spell; `field` is the list's.
template <typename IdType, typename Texts>
absl::StatusOr<std::vector<IdType>> ParseIds(absl::string_view field, const Texts& texts) {
  std::vector<IdType> ids;
  for (const auto& text : texts) {
    absl::StatusOr<IdType> id = ParseId<IdType>(absl::StrCat(field, "[", ids.size(), "]"), text);
    if (!id.ok()) return id.status();
    ids.push_back(*id);
  }
  return ids;
}

template <typename Texts>
std::vector<std::string> TextsOf(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

// The entries of a proto map by rising key: a map's own order changes from run to run.
template <typename Map>
auto SortedEntries(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return entries;
}

// The given expected generation of a request with that optional field.
template <typename Request>
std::optional<placement::Generation> ExpectedGeneration(const Request& request) {
  if (!request.has_expected_generation()) return std::nullopt;
  return placement::Generation{request.expected_generation()};
}

placement::Revision RevisionOf(const pb::Revision& revision);
void SetRevision(const placement::Revision& revision, pb::Revision* to);
void SetDuration(absl::Duration duration, google::protobuf::Duration* to);
void SetTime(absl::Time time, google::protobuf::Timestamp* to);
absl::Duration DurationOf(const google::protobuf::Duration& duration);

// Names of a list of trait ids, sorted; what the catalog no longer knows is left out.
std::vector<std::string> TraitNames(const placement::Catalog& catalog,
                                    const std::vector<placement::TraitId>& traits);
// The name of `resource_class`, or null where the catalog no longer knows it.
const std::string* ClassName(const placement::Catalog& catalog, placement::ClassId resource_class);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_FORM_H_
