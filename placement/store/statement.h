// Statement: one SQL statement, and the values in it apart from the text.
//
// Statements that differ only in their values have the same text. PostgreSQL parses and plans such a
// text once. Not thread-safe.
#ifndef BERTH_PLACEMENT_STORE_STATEMENT_H_
#define BERTH_PLACEMENT_STORE_STATEMENT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace berth::placement {

class Statement {
 public:
  template <typename... Pieces>
  void Append(const Pieces&... pieces) {
    absl::StrAppend(&text_, pieces...);
  }
  // A value in PostgreSQL's text form. REQUIRES: no U+0000.
  void AppendValue(std::string value);

  // The bytes of the text and the values.
  size_t size() const { return text_.size() + value_bytes_; }
  // The text with $1, $2 and so on in the places of values().
  std::string WithParameters() const;
  const std::vector<std::string>& values() const { return values_; }
  // The values as SQL literals in parentheses, "('…','…')"; empty if there are no values.
  std::string ValueList() const;

 private:
  std::string text_;
  std::vector<size_t> places_;  // for each value: the index in text_ before which it belongs
  std::vector<std::string> values_;
  size_t value_bytes_ = 0;
};

// Appends `text` to `sql` as an SQL literal with its quotes. REQUIRES: no U+0000.
void AppendQuoted(absl::string_view text, std::string* sql);
// The text form of a PostgreSQL bytea that holds `bytes`.
std::string BytesText(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_STATEMENT_H_
