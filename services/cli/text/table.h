// Table: rows below a header, without borders, with two spaces between columns.
//
// Made to be read by people, grep and awk. Owns its cells. Rendering is pure. Not thread-safe.
#ifndef BERTH_SERVICES_CLI_TEXT_TABLE_H_
#define BERTH_SERVICES_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

struct Column {
  std::string title;  // in capitals
  enum class Kind {
    kText,   // may be cut on a narrow screen
    kExact,  // never cut, because users copy it
    kSpare,  // never cut, but left out on a narrow screen
    kNumber  // aligned to the right, never cut
  } kind = Kind::kText;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row with one cell for each column; missing cells are empty. Cells are made Printable.
  void Add(std::vector<std::string> cells);

  // Keeps only the columns with these titles, in this order. Titles may be in any case, with `_` or
  // `-` for blanks. If `titles` is empty, keeps all columns. kInvalidArgument, with a list of all
  // columns, for a title that the table does not have.
  absl::Status Select(const std::vector<std::string>& titles);
  // Sorts the rows by the column `title`; a column of numbers is sorted by value. A `-` before the
  // title means descending order. An empty title keeps the order. Fails like Select.
  absl::Status SortBy(const std::string& title);

  // One line for the header and one for each row. To fit the screen, kSpare columns are left out,
  // then kText columns are cut, the widest first. If that is not enough, the lines are longer than
  // the screen.
  std::string Render(const Screen& screen) const;

  bool empty() const { return rows_.empty(); }

 private:
  // The index of the column `title`, or -1.
  int Find(const std::string& title) const;
  absl::Status Unknown(const std::string& title) const;
  // Returns the table without its kSpare columns. If the whole table fits the screen, returns the
  // whole table.
  Table Fitting(const Screen& screen) const;
  std::string Lines(const Screen& screen) const;
  std::vector<int> Widths(const Screen& screen) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_TABLE_H_
