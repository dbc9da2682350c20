// The commands that show and change a set of names that a provider has: its traits or aggregates.
//
// The template parameter `Set` has the types of the messages that read and write the set (Read,
// Stored, Write, Written), and the function Of, which returns a message's field with the set.
#ifndef BERTH_SERVICES_CLI_COMMANDS_PROVIDER_SET_H_
#define BERTH_SERVICES_CLI_COMMANDS_PROVIDER_SET_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/session/retry.h"

namespace berth::cli {

struct OneProviderArguments {
  std::string provider;
};

struct ChangeSetArguments {
  std::string provider;
  std::vector<std::string> names;
  bool create = false;  // of traits only: create those that do not exist
};

enum class SetChange { kAdd, kRemove };

template <typename Set>
absl::StatusOr<typename Set::Stored> ReadSet(Session& session, const std::string& uuid) {
  typename Set::Read request;
  request.set_provider_uuid(uuid);
  return session.Call<typename Set::Stored>(request);
}

template <typename Set, typename Answer>
absl::Status PrintSet(Session& session, Answer& answer) {
  const std::vector<std::string> names(Set::Of(answer)->begin(), Set::Of(answer)->end());
  return session.Print(answer, names.empty() ? "" : absl::StrJoin(names, "\n") + "\n", names);
}

template <typename Set>
absl::Status ShowSet(Session& session, const OneProviderArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  BERTH_ASSIGN_OR_RETURN(auto answer, ReadSet<Set>(session, uuid));
  return PrintSet<Set>(session, answer);
}

// Reads the set, changes it and writes it back. Begins again if the provider has changed meanwhile.
template <typename Set, SetChange kChange>
absl::Status ChangeSet(Session& session, const ChangeSetArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  typename Set::Written answer;
  BERTH_RETURN_IF_ERROR(OnFreshGeneration([&]() -> absl::Status {
    BERTH_ASSIGN_OR_RETURN(auto stored, ReadSet<Set>(session, uuid));
    std::set<std::string> wanted(Set::Of(stored)->begin(), Set::Of(stored)->end());
    for (const std::string& name : Listed(arguments.names)) {
      if (kChange == SetChange::kAdd) {
        wanted.insert(name);
      } else {
        wanted.erase(name);
      }
    }
    typename Set::Write write;
    write.set_provider_uuid(uuid);
    write.set_expected_generation(stored.generation());
    Set::Of(write)->Add(wanted.begin(), wanted.end());
    return session.Call(write, &answer);
  }));
  return PrintSet<Set>(session, answer);
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_PROVIDER_SET_H_
