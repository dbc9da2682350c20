// SqlCall: a call of an SQL function whose arguments are arrays side by side, one place per row.
//
// Values go in column by column: Column(i) then takes one value per row.
#ifndef BERTH_PLACEMENT_SQL_CALL_H_
#define BERTH_PLACEMENT_SQL_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/statement.h"
#include "placement/uuid.h"

namespace berth::placement {

// The text form of a one-dimensional array. An element may be an array itself: it is then the text of
// that array, which the function casts (rows have arrays of different lengths, which PostgreSQL's
// two-dimensional arrays cannot hold).
class SqlArray {
 public:
  void AddInt(int64_t value);
  void AddDouble(double value);
  void AddBool(bool value);
  void AddUuid(const Uuid& value);
  void AddText(absl::string_view value);  // REQUIRES: no U+0000
  void AddBytes(absl::string_view value);
  void AddNull();
  // What is added until End belongs to one element. Not for text and bytes.
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
  // Whether no row was added.
  bool empty() const { return columns_.front().empty(); }
  // Appends "function({…},{…})", with each array as a value.
  void AppendTo(Statement* statement) const;

 private:
  const absl::string_view function_;
  std::vector<SqlArray> columns_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SQL_CALL_H_
