// TomlFault: what is wrong with a file of settings, without a line of the file.
//
// toml11 shows the line at fault, and that may have the password of a database. Pure.
#ifndef BERTH_SERVICES_PROCESS_TOML_FAULT_H_
#define BERTH_SERVICES_PROCESS_TOML_FAULT_H_

#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "toml.hpp"

namespace berth::services {

// "FILE:LINE: what is wrong", or without LINE if toml11 does not tell it. `error`: what toml11 has
// thrown while it read `file`.
inline std::string TomlFault(absl::string_view file, const std::exception& error) {
  absl::string_view words = error.what();
  words = words.substr(0, words.find('\n'));
  absl::ConsumePrefix(&words, "[error] ");
  const auto* const placed = dynamic_cast<const toml::exception*>(&error);
  if (placed == nullptr) return absl::StrCat(file, ": ", words);
  return absl::StrCat(file, ":", placed->location().line(), ": ", words);
}

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_TOML_FAULT_H_
