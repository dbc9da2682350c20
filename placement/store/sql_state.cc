#include "placement/store/sql_state.h"

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"

namespace berth::placement {
namespace {

constexpr char kSqlStatePayload[] = "berth.sqlstate";

bool IsCondition(absl::string_view sqlstate) {
  const absl::string_view kind = sqlstate.substr(0, 2);
  return kind == "40" || kind == "53" || kind == "57" || kind == "58" || sqlstate == "55P03" ||
         sqlstate == "25006";
}

}  // namespace

absl::Status SqlRefusal(absl::string_view sqlstate, absl::string_view text) {
  absl::Status status(
      IsCondition(sqlstate) ? absl::StatusCode::kAborted : absl::StatusCode::kInternal,
      absl::StripAsciiWhitespace(text));
  if (!sqlstate.empty()) status.SetPayload(kSqlStatePayload, absl::Cord(sqlstate));
  return status;
}

std::string SqlStateOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlStatePayload);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace berth::placement
