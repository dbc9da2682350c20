// Functions that all files of this folder need to convert between proto messages and domain types:
// for errors, ids, revisions, times and names. Pure.
//
// The rules of placement check the content of a command. The conversion checks only for things that
// a command cannot hold: misspelled uuids, missing required messages, and fields that this release
// does not offer. Errors name fields by their path in the request, for example
// `consumers[0].consumer_uuid`.
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
#include "placement/ground/status_macros.h"
#include "placement/values/catalog.h"
#include "placement/values/refusal.h"
#include "placement/values/types.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// INVALID_ARGUMENT / INVALID_FIELD. The message is `field`, a space and `why`.
absl::Status InvalidField(absl::string_view field, absl::string_view why);

// Refuses a message if any of its strings contains the character U+0000, even in a nested message:
// PostgreSQL cannot store this character. The entries of a map have no order that means anything, so
// the refusal has the key of the entry, too. Refuses also a message with a group in it. A peer may nest
// unknown groups almost as deep as a message is read; stored and told in another message, they would
// be too deep for the reader.
absl::Status CheckText(const google::protobuf::Message& message);
// Refuses a request id that is longer than 128 characters or has a character that is not printable
// ASCII. The empty request id is accepted.
absl::Status CheckRequestId(absl::string_view request_id);

// Parses the id in `text`, the value of `field` (P-6).
template <typename IdType>
absl::StatusOr<IdType> ParseId(absl::string_view field, absl::string_view text) {
  const std::optional<IdType> id = IdType::Parse(text);
  if (!id) return InvalidField(field, text.empty() ? "is required" : "is not a uuid");
  return *id;
}

// Gives each uuid in `message` and in its nested messages its canonical form. A field holds uuids if
// it is a string, or a list of strings, and its name ends with `uuid` or `uuids`. An empty uuid
// stays empty. INVALID_FIELD if such a text is neither a uuid nor empty, or if an element of a list
// is empty. `path`: of the message in the request.
absl::Status MakeUuidsCanonical(const std::string& path, google::protobuf::Message* message);

// What an answer says as the uuid of a thing that a message named by `text`: the canonical form of
// the uuid. If `text` is no uuid, `text` itself, or nothing if it has more than 64 bytes.
std::string EchoOf(const std::string& text);

// Return the id of the provider or the consumer that a request is about.
template <typename Request>
absl::StatusOr<placement::ProviderId> ProviderIdOf(const Request& request) {
  return ParseId<placement::ProviderId>("provider_uuid", request.provider_uuid());
}
template <typename Request>
absl::StatusOr<placement::ConsumerId> ConsumerIdOf(const Request& request) {
  return ParseId<placement::ConsumerId>("consumer_uuid", request.consumer_uuid());
}

// Parses the ids in `texts`; `field` is the name of the list.
template <typename IdType, typename Texts>
absl::StatusOr<std::vector<IdType>> ParseIds(absl::string_view field, const Texts& texts) {
  std::vector<IdType> ids;
  for (const auto& text : texts) {
    BERTH_ASSIGN_OR_RETURN(IdType id,
                           ParseId<IdType>(absl::StrCat(field, "[", ids.size(), "]"), text));
    ids.push_back(id);
  }
  return ids;
}

template <typename Texts>
std::vector<std::string> TextsOf(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

// The entries of a proto map, sorted by key: a proto map itself has another order in each run.
template <typename Map>
auto SortedEntries(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return entries;
}

// The value of the request's field `expected_generation`; nothing if the field is not given.
template <typename Request>
std::optional<placement::Generation> ExpectedGeneration(const Request& request) {
  if (!request.has_expected_generation()) return std::nullopt;
  return placement::Generation{request.expected_generation()};
}

placement::Revision RevisionOf(const pb::Revision& revision);
void SetRevision(const placement::Revision& revision, pb::Revision* to);
void SetDuration(absl::Duration duration, google::protobuf::Duration* to);
void SetTime(absl::Time time, google::protobuf::Timestamp* to);
// INVALID_FIELD if `time`, the value of `field`, is before year 1 or after year 9999, or if its nanos
// are not in 0 to 999,999,999.
absl::StatusOr<absl::Time> TimeOf(absl::string_view field, const google::protobuf::Timestamp& time);
absl::Duration DurationOf(const google::protobuf::Duration& duration);

// The names of `traits`, sorted. A trait that is no longer in the catalog is left out.
std::vector<std::string> TraitNames(const placement::Catalog& catalog,
                                    const std::vector<placement::TraitId>& traits);
// The name of `resource_class`, or null if it is no longer in the catalog.
const std::string* ClassName(const placement::Catalog& catalog, placement::ClassId resource_class);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_FORM_H_
