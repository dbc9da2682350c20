// Parses the terms of a filter: `A,B` asks for both A and B; `in:A,B` or `A|B` asks for A or B.
// Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_TERMS_H_
#define BERTH_SERVICES_CLI_TEXT_TERMS_H_

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/repeated_field.h"

namespace berth::cli {

// Adds a term (TraitTerm or AggregateTerm) for each name in `texts`. A text that begins with `in:`
// or contains `|` becomes one term with all its names.
template <typename Term>
void AddTerms(const std::vector<std::string>& texts,
              google::protobuf::RepeatedPtrField<Term>* terms) {
  for (absl::string_view text : texts) {
    const bool any = absl::ConsumePrefix(&text, "in:");
    Term* term = any ? terms->Add() : nullptr;
    for (absl::string_view names : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      Term* wanted = any ? term : terms->Add();
      for (absl::string_view name : absl::StrSplit(names, '|', absl::SkipEmpty())) {
        wanted->add_any_of(std::string(name));
      }
    }
  }
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_TERMS_H_
