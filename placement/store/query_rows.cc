#include "placement/store/query_rows.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "placement/ground/check.h"

namespace berth::placement {

QueryRows::QueryRows(std::shared_ptr<const void> texts, int size, int columns,
                     std::vector<absl::string_view> values)
    : rows_(
          std::make_shared<const Rows>(Rows{std::move(texts), size, columns, std::move(values)})) {}

absl::string_view QueryRows::Value(int row, int column) const {
  BERTH_CHECK(row >= 0 && row < size() && column >= 0 && column < rows_->columns);
  return rows_->values[static_cast<size_t>(row) * rows_->columns + column];
}

int64_t QueryRows::Int(int row, int column) const {
  int64_t value = 0;
  BERTH_CHECK(absl::SimpleAtoi(Value(row, column), &value));
  return value;
}

std::string QueryRows::Bytes(int row, int column) const {
  const absl::string_view text = Value(row, column);
  BERTH_CHECK(absl::StartsWith(text, "\\x"));
  return absl::HexStringToBytes(text.substr(2));
}

}  // namespace berth::placement
