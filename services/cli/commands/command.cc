#include "services/cli/commands/command.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/cli/session/failure.h"

namespace berth::cli {

CLI::App* AddNoun(CLI::App& app, const std::string& name, const std::string& description,
                  const std::string& group) {
  CLI::App* noun = app.add_subcommand(name, description);
  noun->require_subcommand(1)->fallthrough()->group(group);
  noun->footer("`berth " + name + " COMMAND --help` shows an example of each command.");
  return noun;
}

CLI::App* AddVerb(CLI::App& parent, const std::string& name, const std::string& description,
                  const std::string& example, const std::string& group) {
  CLI::App* verb = parent.add_subcommand(name, description);
  verb->fallthrough();
  if (!group.empty()) verb->group(group);
  verb->footer(absl::StrCat(
      "Example:\n  ", absl::StrReplaceAll(example, {{"\n", "\n  "}}),
      "\n\nEvery command also takes the options that `berth --help` lists, such as -o json."));
  return verb;
}

CLI::Option* AddList(CLI::App* command, const std::string& flag, std::vector<std::string>* target,
                     const std::string& description) {
  return command->add_option(flag, *target, description)->allow_extra_args(false);
}

void AddProviderName(CLI::App* command, std::string* target) {
  command->add_option("provider", *target, "Name or uuid of the provider")->required();
}

void AddLimit(CLI::App* command, int* target, const std::string& description) {
  command->add_option("--limit", *target, description)->check([](const std::string& text) {
    int limit = 0;
    // SimpleAtoi ignores blanks, which the option's own conversion refuses.
    const bool digits = std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
    if (digits && absl::SimpleAtoi(text, &limit) && limit > 0) return std::string();
    return absl::StrCat("'", text, "' is wrong: it must be a whole number above 0");
  });
}

CLI::Option* AddText(CLI::App* command, const std::string& flag, std::string* target,
                     const std::string& description) {
  return command->add_option(flag, *target, description)->check([](const std::string& text) {
    const bool blank = absl::StripAsciiWhitespace(text).empty();
    return blank ? std::string("the text must not be blank") : std::string();
  });
}

std::string ReasonHelp(const std::string& when) {
  return absl::StrCat("The reason; the log keeps it and `berth watch` shows it",
                      when.empty() ? "" : "; required ", when);
}

absl::Status WrongOption(const std::string& flag, absl::string_view message) {
  return Refused(absl::StatusCode::kInvalidArgument, "INVALID_FIELD", message, {{{"field", flag}}});
}

std::vector<std::string> Listed(const std::vector<std::string>& values) {
  std::vector<std::string> listed;
  for (const std::string& value : values) {
    for (absl::string_view part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
      listed.emplace_back(part);
    }
  }
  return listed;
}

}  // namespace berth::cli
