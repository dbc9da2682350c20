// Statement: one SQL statement whose values are kept apart from its text.
//
// Statements that differ only in their values have the same text. PostgreSQL parses and plans such
// a text once. Not thread-safe.
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
  // Appends a value in PostgreSQL's text form. REQUIRES: `value` has no U+0000.
  void AppendValue(std::string value);

  // The number of bytes of the text and the values together.
  size_t size() const { return text_.size() + value_bytes_; }
  // The text with $1, $2 and so on at the places where the values belong.
  std::string WithParameters() const;
  const std::vector<std::string>& values() const { return values_; }
  // The values as C strings. Valid as long as this object and not appended to.
  std::vector<const char*> Pointers() const;

 private:
  std::string text_;
  std::vector<size_t> places_;  // for each value: the index in text_ before which it belongs
  std::vector<std::string> values_;
  size_t value_bytes_ = 0;
};

// The text form of a PostgreSQL bytea that holds `bytes`.
std::string BytesText(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_STATEMENT_H_
