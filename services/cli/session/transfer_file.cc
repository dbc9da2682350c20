#include "services/cli/session/transfer_file.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/json.h"

namespace berth::cli {

namespace pb = ::berth::placement::v1;

namespace {

constexpr size_t kMessageBytesMax = 256 << 10;

std::string Place(absl::string_view name, int64_t line) { return absl::StrCat(name, ":", line); }

absl::Status Unreadable(absl::string_view name, int64_t line, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Place(name, line), ": ", why));
}

// Puts records into messages of a limited size.
class Packer {
 public:
  explicit Packer(Transfer* to) : to_(to) { to_->messages.emplace_back(); }

  void Add(pb::Entity entity, int64_t line) {
    const size_t bytes = entity.ByteSizeLong();
    if (bytes_ > 0 && bytes_ + bytes > kMessageBytesMax) {
      to_->messages.emplace_back();
      bytes_ = 0;
    }
    bytes_ += bytes;
    *to_->messages.back().add_entities() = std::move(entity);
    to_->lines.push_back(line);
  }

 private:
  Transfer* const to_;
  size_t bytes_ = 0;  // the size of the last message
};

}  // namespace

std::string TransferHeader(const pb::ExportLedgerResponse& answer) {
  pb::ExportLedgerResponse header = answer;
  header.clear_entities();
  std::string line = ToJson(header, JsonForm::kLine);
  // Removes the field `entities` from the text: the first line has none, but JSON shows it as an
  // empty list.
  const size_t list = line.find(",\"entities\":[]");
  if (list != std::string::npos) line.erase(list, sizeof(",\"entities\":[]") - 1);
  return line;
}

absl::StatusOr<Transfer> ReadTransfer(absl::string_view name, absl::string_view text,
                                      const std::function<void(int64_t)>& read) {
  Transfer transfer;
  Packer packer(&transfer);
  std::optional<int64_t> promised;
  int64_t line = 0;
  for (absl::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const absl::string_view json = rest.substr(0, end);
    rest.remove_prefix(end == absl::string_view::npos ? rest.size() : end + 1);
    ++line;
    if (read) read(static_cast<int64_t>(text.size() - rest.size()));
    if (absl::StripAsciiWhitespace(json).empty()) continue;
    pb::ExportLedgerResponse header;
    if (line == 1 && FromJson(json, &header).ok()) {
      promised = header.total_count();
      continue;
    }
    pb::Entity entity;
    const absl::Status parsed = FromJson(json, &entity);
    if (!parsed.ok()) return Unreadable(name, line, parsed.message());
    packer.Add(std::move(entity), line);
  }
  const auto count = static_cast<int64_t>(transfer.lines.size());
  if (promised && *promised != count) {
    return Unreadable(
        name, line,
        absl::StrCat("the first line announces ", *promised, " entities, but the file holds ",
                     count, ": the file is incomplete"));
  }
  transfer.messages.front().set_total_count(count);
  return transfer;
}

absl::Status AtLines(const absl::Status& status, absl::string_view name,
                     const std::vector<int64_t>& lines) {
  Failure failure = FailureOf(status);
  bool found = false;
  for (Item& item : failure.items) {
    const auto record = item.find("record");
    int64_t number = 0;
    if (record == item.end() || !absl::SimpleAtoi(record->second, &number)) continue;
    if (number < 1 || number > static_cast<int64_t>(lines.size())) continue;
    item["line"] = Place(name, lines[static_cast<size_t>(number) - 1]);
    found = true;
  }
  if (!found) return status;
  absl::Status placed = Refused(status.code(), failure.reason, status.message(), failure.items);
  if (!failure.request_id.empty()) placed = OfRequest(placed, failure.request_id, false);
  return placed;
}

}  // namespace berth::cli
