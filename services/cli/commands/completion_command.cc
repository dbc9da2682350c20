#include <string>

#include "services/cli/commands/command.h"
#include "services/cli/commands/completion.h"

namespace berth::cli {

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
