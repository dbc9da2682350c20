#include "placement/values/refusal.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// The payload is a list of texts. Each text is preceded by its length, since it may contain any
// byte. The texts are: the reason; the delay in microseconds, or an empty text; the number of
// omitted items; and for each item its number of pairs, then the key and the value of each pair.
constexpr absl::string_view kPayload = "berth.refusal";

void Write(absl::string_view text, std::string& payload) {
  absl::StrAppend(&payload, text.size(), ":", text);
}

class Reader {
 public:
  explicit Reader(absl::string_view payload) : rest_(payload) {}

  bool AtEnd() const { return rest_.empty(); }
  std::string Text() {
    const size_t colon = rest_.find(':');
    // Refuse wrote the payload, and it says the length of each text.
    BERTH_CHECK(colon != absl::string_view::npos);
    size_t length = 0;
    BERTH_CHECK(absl::SimpleAtoi(rest_.substr(0, colon), &length));
    std::string text(rest_.substr(colon + 1, length));
    rest_.remove_prefix(colon + 1 + length);
    return text;
  }
  std::optional<int64_t> Number() {
    int64_t number = 0;
    if (!absl::SimpleAtoi(Text(), &number)) return std::nullopt;
    return number;
  }

 private:
  absl::string_view rest_;
};

}  // namespace

absl::Status Refuse(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                    const std::vector<FaultItem>& items,
                    std::optional<absl::Duration> retry_after) {
  // The callers pass a code of their own or that of a status that is not OK.
  BERTH_CHECK(code != absl::StatusCode::kOk);
  std::string payload;
  Write(reason, payload);
  Write(retry_after ? absl::StrCat(absl::ToInt64Microseconds(*retry_after)) : "", payload);
  Write(absl::StrCat(items.size() - std::min(items.size(), kItemsMax)), payload);
  for (size_t i = 0; i < items.size() && i < kItemsMax; ++i) {
    Write(absl::StrCat(items[i].size()), payload);
    for (const auto& [key, value] : items[i]) {
      Write(key, payload);
      Write(value, payload);
    }
  }
  absl::Status status(code, message);
  status.SetPayload(kPayload, absl::Cord(std::move(payload)));
  return status;
}

std::string ListOf(const std::vector<std::string>& names) {
  if (names.size() <= kItemsMax) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kItemsMax, ", "), " and ",
                      names.size() - kItemsMax, " more");
}

std::optional<Refusal> RefusalOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  Reader reader(text);
  Refusal refusal;
  refusal.reason = reader.Text();
  if (const std::optional<int64_t> delay = reader.Number()) {
    refusal.retry_after = absl::Microseconds(*delay);
  }
  refusal.omitted = static_cast<size_t>(reader.Number().value_or(0));
  while (!reader.AtEnd()) {
    const std::optional<int64_t> pairs = reader.Number();
    BERTH_CHECK(pairs);  // Refuse wrote the text
    FaultItem& item = refusal.items.emplace_back();
    for (int64_t i = 0; i < *pairs; ++i) {
      std::string key = reader.Text();
      item.emplace(std::move(key), reader.Text());
    }
  }
  return refusal;
}

}  // namespace berth::placement
