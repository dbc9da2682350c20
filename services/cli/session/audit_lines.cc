#include "services/cli/session/audit_lines.h"

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/cli/session/json.h"
#include "services/cli/text/revision_text.h"
#include "services/cli/text/watch_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;
using Json = nlohmann::ordered_json;

constexpr char kOpenEnd[] = "}\n";

std::string RevisionColon(const pb::Revision& revision) {
  return absl::StrCat(revision.epoch(), ":", revision.number());
}

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

Json Opening(const pb::Revision& revision, absl::Time time) {
  Json line;
  line["revision"] = RevisionColon(revision);
  line["batch"] = absl::StrCat(revision.batch());
  line["time"] = Rfc3339(time);
  return line;
}

// One line. The entity is JSON already.
std::string Line(const Json& fields, const std::string& entity, bool last) {
  std::string line = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
  line.pop_back();
  if (!entity.empty()) absl::StrAppend(&line, ",\"present\":", entity);
  return line + (last ? kLastOfRevision : kOpenEnd);
}

std::string ChangeLine(const pb::WatchResponse& response, const pb::Change& change, bool last) {
  Json line = Opening(response.revision(), TimeOf(response.committed_at()));
  line["actor"] = change.actor();
  line["method"] = change.method();
  line["requestId"] = change.request_id();
  line["reason"] = change.reason();
  if (change.has_removed()) {
    line["kind"] = KindWords(change.removed().kind());
    line["key"] = change.removed().key();
    line["removed"] = true;
    return Line(line, "", last);
  }
  const EntityText text = TextOf(change.present());
  line["kind"] = text.kind;
  line["key"] = text.key;
  std::string entity = ToJson(change.present(), JsonForm::kLine);
  entity.pop_back();
  return Line(line, entity, last);
}

std::string MarkWord(AuditMark mark) {
  switch (mark) {
    case AuditMark::kBegin:
      return "begin";
    case AuditMark::kPosition:
      return "position";
    case AuditMark::kTrimmed:
      return "trimmed";
    case AuditMark::kRestored:
      return "restored";
  }
  return "";
}

std::string TextIn(const Json& line, const char* name) {
  const auto field = line.find(name);
  return field != line.end() && field->is_string() ? field->get<std::string>() : "";
}

absl::Status NoLine() { return absl::InvalidArgumentError("this is no line of an audit file"); }

absl::Status FillChange(const Json& line, AuditEntry* entry) {
  entry->change.set_actor(TextIn(line, "actor"));
  entry->change.set_method(TextIn(line, "method"));
  entry->change.set_request_id(TextIn(line, "requestId"));
  entry->change.set_reason(TextIn(line, "reason"));
  entry->kind = TextIn(line, "kind");
  entry->key = TextIn(line, "key");
  const auto present = line.find("present");
  if (present != line.end()) {
    return FromJson(present->dump(), entry->change.mutable_present());
  }
  if (line.value("removed", false)) {
    entry->change.mutable_removed()->set_key(entry->key);
    return absl::OkStatus();
  }
  return NoLine();
}

}  // namespace

std::string AuditLines(const pb::WatchResponse& response) {
  std::string lines;
  for (int i = 0; i < response.changes_size(); ++i) {
    const bool last = response.complete() && i + 1 == response.changes_size();
    lines += ChangeLine(response, response.changes(i), last);
  }
  return lines;
}

std::string MarkLine(AuditMark mark, const pb::Revision& revision,
                     const std::optional<pb::Revision>& after, absl::Time time) {
  Json line = Opening(revision, time);
  line["mark"] = MarkWord(mark);
  if (after) line["after"] = RevisionColon(*after);
  return Line(line, "", true);
}

absl::StatusOr<AuditEntry> ReadAuditLine(absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object()) return NoLine();
  AuditEntry entry;
  const auto revision = ParseRevision(TextIn(json, "revision"));
  uint64_t batch = 0;
  if (!revision.ok() || !absl::SimpleAtoi(TextIn(json, "batch"), &batch) ||
      !absl::ParseTime(absl::RFC3339_full, TextIn(json, "time"), &entry.time, nullptr)) {
    return NoLine();
  }
  entry.revision = *revision;
  entry.revision.set_batch(batch);
  entry.mark = TextIn(json, "mark");
  entry.after = TextIn(json, "after");
  if (entry.mark.empty()) {
    const absl::Status filled = FillChange(json, &entry);
    if (!filled.ok()) return filled;
  }
  return entry;
}

}  // namespace berth::cli
