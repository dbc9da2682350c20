#include "placement/commands/aggregate.h"

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {

namespace {

// The faults of one entry. `field`: the path of the metadata.
void EntryFields(Faults& faults, const std::string& field, const std::string& key,
                 const std::string& value) {
  const int64_t key_length = CodePoints(key);
  if (key_length < 1 || key_length > kTextMax) {
    faults.Add(
        kInvalidField, field,
        absl::StrCat("must have keys of 1 to ", kTextMax, " characters, but one has ", key_length));
    return;
  }
  faults.Line(field, key);
  const int64_t length = CodePoints(value);
  if (length <= kMetadataValueMax) return;
  faults.Add(kInvalidField, field,
             absl::StrCat("must have values of ", kMetadataValueMax,
                          " characters at most, but that of ", key, " has ", length),
             {{"key", key}});
}

}  // namespace

void AggregateFields(Faults& faults, const std::string& path, const Aggregate& aggregate) {
  faults.Length(path + ".name", aggregate.name, 1, kTextMax);
  faults.Line(path + ".name", aggregate.name);
  const std::string field = path + ".metadata";
  if (aggregate.metadata.size() > kMetadataEntriesMax) {
    faults.Add(kInvalidField, field,
               absl::StrCat("must have ", kMetadataEntriesMax, " entries at most, has ",
                            aggregate.metadata.size()));
    return;
  }
  size_t bytes = 0;
  for (const auto& [key, value] : aggregate.metadata) {
    bytes += key.size() + value.size();
    EntryFields(faults, field, key, value);
  }
  if (bytes <= kMetadataBytesMax) return;
  faults.Add(kInvalidField, field,
             absl::StrCat("must have ", kMetadataBytesMax,
                          " bytes at most in all keys and values together, has ", bytes));
}

absl::Status AggregateNotFound(AggregateId id) {
  return Refuse(absl::StatusCode::kNotFound, "AGGREGATE_NOT_FOUND",
                absl::StrCat("there is no aggregate with a name and the uuid ", id.ToString()),
                {{{"aggregate", id.ToString()}, {"field", "aggregate_uuid"}}});
}

absl::Status CheckNameIsFree(const State& state, const Aggregate& aggregate,
                             const std::string& field) {
  const AggregatePtr holder = state.aggregates().FindByName(aggregate.name);
  if (holder == nullptr || holder->id == aggregate.id) return absl::OkStatus();
  return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_AGGREGATE",
                absl::StrCat("aggregate ", holder->id.ToString(), " has the name '", aggregate.name,
                             "' already"),
                {{{"aggregate", holder->id.ToString()}, {"field", field}}});
}

}  // namespace berth::placement
