#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/consumer.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/consumer_filter.h"
#include "services/cli/session/pages.h"
#include "services/cli/text/candidate_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kReleasedAtOnce = 1000;  // consumers in one call

struct ReleaseArguments {
  std::vector<std::string> consumers;
  ConsumerFilter filter;
  std::optional<int64_t> generation;
  bool dry_run = false;
};

absl::Status ReleaseOne(Session& session, const ReleaseArguments& arguments) {
  pb::DeleteAllocationsRequest request;
  request.set_consumer_uuid(arguments.consumers.front());
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteAllocationsResponse>(request));
  return session.Print(answer, absl::StrCat("released ", arguments.consumers.front(), "\n"),
                       {arguments.consumers.front()});
}

// Releases `consumers` in one or more calls. A call releases all of its consumers or none.
absl::Status ReleaseAll(Session& session, const std::vector<pb::ConsumerRelease>& consumers) {
  pb::ReleaseConsumersResponse all;
  std::vector<std::string> released;
  for (size_t from = 0; from < consumers.size(); from += kReleasedAtOnce) {
    const size_t to = std::min(consumers.size(), from + kReleasedAtOnce);
    pb::ReleaseConsumersRequest request;
    for (size_t i = from; i < to; ++i) *request.add_consumers() = consumers[i];
    const std::string& id = session.settings.request_id;
    if (!id.empty() && from > 0) request.set_request_id(absl::StrCat(id, "/", from));
    pb::ReleaseConsumersResponse answer;
    const absl::Status called = session.Call(request, &answer);
    if (!called.ok()) {
      if (from > 0)
        session.Say(
            absl::StrCat("before this error, ", all.released_count(), " consumers were released"));
      return called;
    }
    *all.mutable_revision() = answer.revision();
    all.set_released_count(all.released_count() + answer.released_count());
    all.mutable_absent_consumer_uuids()->MergeFrom(answer.absent_consumer_uuids());
  }
  const auto& absent = all.absent_consumer_uuids();
  for (const pb::ConsumerRelease& consumer : consumers) {
    const bool held =
        std::find(absent.begin(), absent.end(), consumer.consumer_uuid()) == absent.end();
    if (held) released.push_back(consumer.consumer_uuid());
  }
  std::string text = absl::StrCat("released ", all.released_count(), " consumers\n");
  if (!absent.empty()) {
    absl::StrAppend(&text, "these held nothing: ", absl::StrJoin(absent, ", "), "\n");
  }
  return session.Print(all, text, released);
}

absl::Status ReleaseNamed(Session& session, const ReleaseArguments& arguments) {
  std::vector<pb::ConsumerRelease> consumers;
  for (const std::string& uuid : arguments.consumers) {
    consumers.emplace_back().set_consumer_uuid(uuid);
  }
  return ReleaseAll(session, consumers);
}

// Releases the consumers that pass the filter, each with the generation that it had in the list. If
// a consumer has changed meanwhile, its call fails and the command makes no further call.
absl::Status ReleaseFiltered(Session& session, const ReleaseArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto request, ListOf(session, arguments.filter));
  BERTH_ASSIGN_OR_RETURN(const auto found, CallPaged<pb::ListConsumersResponse>(
                                               session, request, std::numeric_limits<int>::max()));
  std::vector<pb::ConsumerRelease> consumers;
  std::vector<std::string> uuids;
  for (const pb::Consumer& consumer : found.consumers()) {
    pb::ConsumerRelease& release = consumers.emplace_back();
    release.set_consumer_uuid(consumer.uuid());
    release.set_expected_generation(consumer.generation());
    uuids.push_back(consumer.uuid());
  }
  if (!arguments.dry_run) return ReleaseAll(session, consumers);
  session.Say(
      absl::StrCat("dry run, nothing was changed: ", uuids.size(), " consumers would be released"));
  return session.Print(found, ConsumerTable(found.consumers(), {}), uuids);
}

absl::Status Release(Session& session, const ReleaseArguments& arguments) {
  if (arguments.consumers.empty() == arguments.filter.empty()) {
    return absl::InvalidArgumentError("name either consumers or filters such as --project");
  }
  if (arguments.generation && arguments.consumers.size() != 1) {
    return absl::InvalidArgumentError("--generation needs exactly one consumer");
  }
  if (arguments.dry_run && !arguments.consumers.empty()) {
    return absl::InvalidArgumentError("--dry-run needs a filter such as --project");
  }
  if (arguments.consumers.size() == 1) return ReleaseOne(session, arguments);
  return arguments.consumers.empty() ? ReleaseFiltered(session, arguments)
                                     : ReleaseNamed(session, arguments);
}

}  // namespace

void AddReleaseCommand(CLI::App& app, Session& session) {
  CLI::App* release =
      AddVerb(app, "release",
              "Release everything held by the named consumers, or by those that pass the filters",
              "berth release 5e08ea53-c4c6-448e-9334-ac4953de3cfa\n"
              "berth release --project team-a --idle 720h --dry-run",
              "Find and claim");
  ReleaseArguments& arguments = Does(release, session, Release);
  release->add_option("consumers", arguments.consumers,
                      "The uuids of the consumers; left out: give a filter");
  AddConsumerFilter(release, &arguments.filter);
  release->add_option("--generation", arguments.generation,
                      "Fail if the consumer is no longer at this generation");
  release->add_flag("--dry-run", arguments.dry_run,
                    "List the consumers that would be released, and release nothing");
}

}  // namespace berth::cli
