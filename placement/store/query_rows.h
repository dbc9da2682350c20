// QueryRows: the rows that one statement returned.
//
// Rows and columns are numbered from 0. Reading a value that is not there, or as a type that it
// does not have, for example a name as Int, ends the process. Cheap to copy: copies share the rows,
// which never change.
#ifndef BERTH_PLACEMENT_STORE_QUERY_ROWS_H_
#define BERTH_PLACEMENT_STORE_QUERY_ROWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::placement {

class QueryRows {
 public:
  // No rows.
  QueryRows() = default;
  // `size` rows of `columns` values each. `values` has the text of each value, row by row, and a
  // view without data for each NULL. `texts` owns what the views show.
  QueryRows(std::shared_ptr<const void> texts, int size, int columns,
            std::vector<absl::string_view> values);

  int size() const { return rows_ ? rows_->size : 0; }
  bool IsNull(int row, int column) const { return Value(row, column).data() == nullptr; }
  // Empty for NULL. The text stays valid as long as this object or a copy of it exists.
  absl::string_view Text(int row, int column) const { return Value(row, column); }
  int64_t Int(int row, int column) const;
  bool Bool(int row, int column) const { return Value(row, column) == "t"; }
  // The bytes in a bytea column.
  std::string Bytes(int row, int column) const;

 private:
  struct Rows {
    std::shared_ptr<const void> texts;
    int size;
    int columns;
    std::vector<absl::string_view> values;
  };

  absl::string_view Value(int row, int column) const;

  std::shared_ptr<const Rows> rows_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_QUERY_ROWS_H_
