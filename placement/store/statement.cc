#include "placement/store/statement.h"

#include <utility>

#include "absl/strings/escaping.h"

namespace berth::placement {

void Statement::AppendValue(std::string value) {
  places_.push_back(text_.size());
  value_bytes_ += value.size();
  values_.push_back(std::move(value));
}

std::string Statement::WithParameters() const {
  std::string sql;
  size_t done = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    sql.append(text_, done, places_[i] - done);
    absl::StrAppend(&sql, "$", i + 1);
    done = places_[i];
  }
  sql.append(text_, done);
  return sql;
}

std::vector<const char*> Statement::Pointers() const {
  std::vector<const char*> pointers;
  pointers.reserve(values_.size());
  for (const std::string& value : values_) pointers.push_back(value.c_str());
  return pointers;
}

std::string Statement::ValueList() const {
  std::string list;
  list.reserve(value_bytes_ + 3 * values_.size() + 1);
  for (const std::string& value : values_) {
    list.push_back(list.empty() ? '(' : ',');
    AppendQuoted(value, &list);
  }
  if (!list.empty()) list.push_back(')');
  return list;
}

void AppendQuoted(absl::string_view text, std::string* sql) {
  sql->push_back('\'');
  while (true) {
    const size_t quote = text.find('\'');
    absl::StrAppend(sql, text.substr(0, quote));
    if (quote == absl::string_view::npos) break;
    absl::StrAppend(sql, "''");
    text.remove_prefix(quote + 1);
  }
  sql->push_back('\'');
}

std::string BytesText(absl::string_view bytes) {
  return absl::StrCat("\\x", absl::BytesToHexString(bytes));
}

}  // namespace berth::placement
