#include "placement/store/sql_call.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace berth::placement {

void SqlArray::Separate() {
  if (!text_.empty() && !first_of_nested_) text_.push_back(',');
  first_of_nested_ = false;
}

void SqlArray::AddInt(int64_t value) {
  Separate();
  absl::StrAppend(&text_, value);
}

void SqlArray::AddDouble(double value) {
  Separate();
  // 17 digits are enough to read back exactly the same double.
  absl::StrAppendFormat(&text_, "%.17g", value);
}

void SqlArray::AddBool(bool value) {
  Separate();
  text_.push_back(value ? 't' : 'f');
}

void SqlArray::AddUuid(const Uuid& value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  Separate();
  char digits[32];
  for (int i = 0; i < 16; ++i) {
    digits[i] = kDigits[value.high >> (60 - 4 * i) & 15];
    digits[16 + i] = kDigits[value.low >> (60 - 4 * i) & 15];
  }
  text_.append(digits, sizeof(digits));
}

void SqlArray::AddText(absl::string_view value) {
  Separate();
  text_.push_back('"');
  for (const char character : value) {
    if (character == '"' || character == '\\') text_.push_back('\\');
    text_.push_back(character);
  }
  text_.push_back('"');
}

void SqlArray::AddBytes(absl::string_view value) { AddText(BytesText(value)); }

void SqlArray::AddNull() {
  Separate();
  absl::StrAppend(&text_, "NULL");
}

void SqlArray::Begin() {
  Separate();
  absl::StrAppend(&text_, "\"{");
  first_of_nested_ = true;
}

void SqlArray::End() {
  first_of_nested_ = false;
  absl::StrAppend(&text_, "}\"");
}

void SqlArray::AppendTo(Statement* statement) const {
  statement->AppendValue(absl::StrCat("{", text_, "}"));
}

void SqlCall::AppendTo(Statement* statement) const {
  statement->Append(function_, "(");
  absl::string_view separator;
  for (const SqlArray& column : columns_) {
    statement->Append(separator);
    column.AppendTo(statement);
    separator = ",";
  }
  statement->Append(")");
}

}  // namespace berth::placement
