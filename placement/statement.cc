#include "placement/statement.h"

#include <utility>

#include "absl/strings/escaping.h"

namespace berth::placement {

void Statement::AppendValue(std::string value) {
  places_.push_back(text_.size());
  value_bytes_ += value.size();
  values_.push_back(std::move(value));
}

std::string Statement::WithLiterals() const {
  std::string sql;
  sql.reserve(size() + 2 * values_.size());
  size_t done = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    sql.append(text_, done, places_[i] - done);
    AppendQuoted(values_[i], &sql);
    done = places_[i];
  }
  sql.append(text_, done);
  return sql;
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
