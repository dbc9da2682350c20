// Statement: one SQL statement and the values in it.
//
// Values are kept apart from the text: statements that differ in their values alone have one text,
// which PostgreSQL then reads and plans once.
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

  // Bytes, of text and values.
  size_t size() const { return text_.size() + value_bytes_; }
  // The text, with $1, $2 and so on for the values().
  std::string WithParameters() const;
  const std::vector<std::string>& values() const { return values_; }
  // "('…','…')" for the values, or empty where there are none.
  std::string ValueList() const;

 private:
  std::string text_;
  std::vector<size_t> places_;  // in text_, of each value
  std::vector<std::string> values_;
  size_t value_bytes_ = 0;
};

// Appends `text` as an SQL literal, quotes included. REQUIRES: no U+0000.
void AppendQuoted(absl::string_view text, std::string* sql);
// `bytes` in the text form of a bytea.
std::string BytesText(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_STATEMENT_H_
