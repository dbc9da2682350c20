#include "services/cli/commands/completion.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/cli/commands/command.h"

namespace berth::cli {
namespace {

// The fixed parts of the bash script. Between them come the two variable parts: the known command
// paths, and the words that may follow each path.
constexpr char kBashHead[] = R"sh(# Completion of berth. Once: eval "$(berth completion bash)"
_berth() {
  local path="" word words
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "${path:+$path }$word" in
      )sh";
constexpr char kBashPath[] = R"sh() path="${path:+$path }$word" ;;
    esac
  done
  case "$path" in
)sh";
constexpr char kBashTail[] = R"sh(  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _berth berth
)sh";

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The long flags of `app`, including their dashes.
std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// One branch of the script's `case`: the words that may follow `path`.
std::string Branch(const std::string& path, const CLI::App& app, const CLI::App& root) {
  std::vector<std::string> words;
  for (const CLI::App* command : CommandsOf(app)) words.push_back(command->get_name());
  for (const std::string& flag : FlagsOf(app)) words.push_back(flag);
  if (&app != &root) {
    for (const std::string& flag : FlagsOf(root)) words.push_back(flag);
  }
  return absl::StrCat("    \"", path, "\") words=\"", absl::StrJoin(words, " "), "\" ;;\n");
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishFlags(const CLI::App& app, const std::string& condition) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      absl::StrAppend(&lines, "complete -c berth", condition, " -l ", name,
                      option->get_expected_max() > 0 ? " -r" : "", " -d ",
                      Quoted(option->get_description()), "\n");
    }
  }
  return lines;
}

std::string FishCommand(const CLI::App& command, const std::string& condition) {
  return absl::StrCat("complete -c berth -n ", Quoted(condition), " -a ", command.get_name(),
                      " -d ", Quoted(command.get_description()), "\n");
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string branches = Branch("", app, app);
  std::string known;
  for (const CLI::App* noun : CommandsOf(app)) {
    absl::StrAppend(&branches, Branch(noun->get_name(), *noun, app));
    absl::StrAppend(&known, known.empty() ? "" : "|", noun->get_name());
    for (const CLI::App* verb : CommandsOf(*noun)) {
      const std::string path = absl::StrCat(noun->get_name(), " ", verb->get_name());
      absl::StrAppend(&branches, Branch(path, *verb, app));
      absl::StrAppend(&known, "|\"", path, "\"");
    }
  }
  return absl::StrCat(kBashHead, known, kBashPath, branches, kBashTail);
}

std::string ZshCompletion(const CLI::App& app) {
  return absl::StrCat("autoload -U +X compinit && compinit\n",
                      "autoload -U +X bashcompinit && bashcompinit\n", BashCompletion(app));
}

std::string FishCompletion(const CLI::App& app) {
  std::string lines = "# Completion of berth. Once: berth completion fish | source\n";
  absl::StrAppend(&lines, "complete -c berth -f\n", FishFlags(app, ""));
  for (const CLI::App* noun : CommandsOf(app)) {
    const std::string seen = absl::StrCat("__fish_seen_subcommand_from ", noun->get_name());
    absl::StrAppend(&lines, FishCommand(*noun, "__fish_use_subcommand"));
    for (const CLI::App* verb : CommandsOf(*noun)) {
      absl::StrAppend(&lines, FishCommand(*verb, seen));
      absl::StrAppend(
          &lines,
          FishFlags(*verb, absl::StrCat(" -n ", Quoted(absl::StrCat(
                                                    seen, "; and __fish_seen_subcommand_from ",
                                                    verb->get_name())))));
    }
    absl::StrAppend(&lines, FishFlags(*noun, absl::StrCat(" -n ", Quoted(seen))));
  }
  return lines;
}

void AddCompletionCommand(CLI::App& app, Session& session) {
  CLI::App* command =
      AddVerb(app, "completion", "Print a script that lets a shell complete berth commands",
              "eval \"$(berth completion bash)\"\n"
              "berth completion fish > ~/.config/fish/completions/berth.fish",
              "Operate");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "The shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &session, shell] {
    session.Choose([&app, &session, shell] {
      session.data() << (*shell == "bash"  ? BashCompletion(app)
                         : *shell == "zsh" ? ZshCompletion(app)
                                           : FishCompletion(app));
      return absl::OkStatus();
    });
  });
}

}  // namespace berth::cli
