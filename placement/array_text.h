// Arrays as PostgreSQL prints them: {1,2,3}. For numbers and uuids, which need no quotes.
#ifndef BERTH_PLACEMENT_ARRAY_TEXT_H_
#define BERTH_PLACEMENT_ARRAY_TEXT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "placement/check.h"
#include "placement/uuid.h"

namespace berth::placement {

// The elements of `text`. REQUIRES: it is a flat array.
inline std::vector<absl::string_view> ArrayElements(absl::string_view text) {
  BERTH_CHECK(text.size() >= 2 && text.front() == '{' && text.back() == '}');
  text = text.substr(1, text.size() - 2);
  if (text.empty()) return {};
  return absl::StrSplit(text, ',');
}

inline std::vector<int64_t> IntArray(absl::string_view text) {
  std::vector<int64_t> values;
  for (const absl::string_view element : ArrayElements(text)) {
    BERTH_CHECK(absl::SimpleAtoi(element, &values.emplace_back()));
  }
  return values;
}

inline std::vector<double> DoubleArray(absl::string_view text) {
  std::vector<double> values;
  for (const absl::string_view element : ArrayElements(text)) {
    BERTH_CHECK(absl::SimpleAtod(element, &values.emplace_back()));
  }
  return values;
}

inline std::vector<Uuid> UuidArray(absl::string_view text) {
  std::vector<Uuid> values;
  for (const absl::string_view element : ArrayElements(text)) {
    const std::optional<Uuid> uuid = Uuid::Parse(element);
    BERTH_CHECK(uuid.has_value());
    values.push_back(*uuid);
  }
  return values;
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_ARRAY_TEXT_H_
