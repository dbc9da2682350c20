// Table: rows under a header, without borders, columns two spaces apart.
//
// Easy on eyes, grep and awk. Holds its cells; rendering is pure. Not for several threads at once.
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
    kText,   // may be cut where the screen is narrow
    kExact,  // never cut: somebody will copy it
    kSpare,  // never cut, left out where the screen is narrow
    kNumber  // aligned to the right, never cut
  } kind = Kind::kText;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell for each column; what is missing is empty. Cells are made printable.
  void Add(std::vector<std::string> cells);

  // Keeps these columns, in this order; names in any case, `_` or `-` for blanks. Empty: all.
  // kInvalidArgument for one that is not there, naming those that are.
  absl::Status Select(const std::vector<std::string>& titles);
  // Orders the rows by a column, numbers as numbers, downwards with a `-` before it. Empty: stays.
  // kInvalidArgument like Select.
  absl::Status SortBy(const std::string& title);

  // One line for the header, one for each row. To fit the screen, spare columns are left out, then
  // text columns are cut, the widest first; where that is not enough lines are longer than it.
  std::string Render(const Screen& screen) const;

  bool empty() const { return rows_.empty(); }

 private:
  // The place of the column `title`, or -1.
  int Find(const std::string& title) const;
  absl::Status Unknown(const std::string& title) const;
  // The table without its spare columns, unless the whole fits.
  Table Fitting(const Screen& screen) const;
  std::string Lines(const Screen& screen) const;
  std::vector<int> Widths(const Screen& screen) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_TABLE_H_
