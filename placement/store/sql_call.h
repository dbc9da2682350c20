// SqlCall: a call of an SQL function that takes one array per column, with one element per row.
//
// Example: remove_nodes('{uuid1,uuid2}') has one column and two rows. Not thread-safe.
#ifndef BERTH_PLACEMENT_STORE_SQL_CALL_H_
#define BERTH_PLACEMENT_STORE_SQL_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "placement/ground/check.h"
#include "placement/ground/uuid.h"
#include "placement/store/statement.h"

namespace berth::placement {

// Builds the text form of a one-dimensional PostgreSQL array. An element may be an array itself;
// the SQL function then gets that array's text and casts it. Two-dimensional arrays of PostgreSQL
// cannot be used here, because their inner arrays must all have the same length.
class SqlArray {
 public:
  void AddInt(int64_t value);
  void AddDouble(double value);
  void AddBool(bool value);
  void AddUuid(const Uuid& value);
  void AddText(absl::string_view value);  // REQUIRES: no U+0000
  void AddBytes(absl::string_view value);
  void AddNull();
  // Begins an element that is an array. The values that are added until End go into that array;
  // only numbers and uuids may be added to it.
  void Begin();
  void End();

  bool empty() const { return text_.empty(); }
  void AppendTo(Statement* statement) const;

 private:
  void Separate();

  std::string text_;
  bool first_of_nested_ = false;
};

class SqlCall {
 public:
  SqlCall(absl::string_view function, int columns) : function_(function), columns_(columns) {}

  SqlArray& Column(int column) { return columns_[column]; }
  // Whether the call has no rows.
  bool empty() const { return columns_.front().empty(); }
  // Appends a call of the function, e.g. "f($1,$2)", to `statement`; each argument is one column.
  void AppendTo(Statement* statement) const;

 private:
  const absl::string_view function_;
  std::vector<SqlArray> columns_;
};

// The elements of the PostgreSQL array `text`. REQUIRES: the elements are numbers or uuids.
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

#endif  // BERTH_PLACEMENT_STORE_SQL_CALL_H_
