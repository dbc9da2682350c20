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

std::string BytesText(absl::string_view bytes) {
  return absl::StrCat("\\x", absl::BytesToHexString(bytes));
}

}  // namespace berth::placement
