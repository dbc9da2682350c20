#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/provider.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/json.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/revision_text.h"
#include "services/cli/text/watch_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kWatchMethod[] = "/berth.placement.v1.WatchService/Watch";
constexpr absl::Duration kResumeAfter = absl::Seconds(1);
// The number of consecutive streams without any message after which the command gives up.
constexpr int kAttemptsMax = 5;

struct WatchArguments {
  std::string after;
  bool snapshot = false;
  std::vector<std::string> kinds, trees, aggregates;
  int64_t revisions_max = 0;
};

absl::StatusOr<pb::EntityKind> ParseKind(const std::string& text) {
  std::string name = absl::AsciiStrToUpper(text);
  if (name == "USAGE") name = "PROVIDER_USAGE";
  if (name == "CLASS") name = "RESOURCE_CLASS";
  pb::EntityKind kind;
  if (pb::EntityKind_Parse("ENTITY_KIND_" + name, &kind)) return kind;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text,
                   "' is not a kind: write provider, usage, consumer, class, trait, "
                   "service, node, aggregate, server_group, instance or migration"));
}

// Returns the uuid of the root of the tree that contains the provider `name`, because a watch that
// begins after a revision accepts only roots. If no provider has the uuid `name`, returns `name`.
absl::StatusOr<std::string> RootUuid(Session& session, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, name));
  pb::ListProvidersRequest request;
  request.set_uuid(uuid);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::ListProvidersResponse>(request));
  return answer.providers().empty() ? uuid : answer.providers(0).root_uuid();
}

absl::StatusOr<pb::WatchRequest> RequestOf(Session& session, const WatchArguments& arguments) {
  pb::WatchRequest request;
  if (arguments.snapshot) request.mutable_snapshot();
  if (!arguments.after.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto revision, ParseRevision(arguments.after));
    *request.mutable_after_revision() = revision;
  }
  for (const std::string& text : Listed(arguments.kinds)) {
    BERTH_ASSIGN_OR_RETURN(const auto kind, ParseKind(text));
    request.add_kinds(kind);
  }
  for (const std::string& name : Listed(arguments.trees)) {
    BERTH_ASSIGN_OR_RETURN(const auto root, RootUuid(session, name));
    request.add_in_trees(root);
  }
  for (const std::string& uuid : Listed(arguments.aggregates)) request.add_aggregate_uuids(uuid);
  return request;
}

// Shows changes, and remembers the revision after which another stream must continue.
class ShowWatched {
 public:
  ShowWatched(Session& session, int64_t revisions_max) : session_(session), max_(revisions_max) {
    if (session_.settings.format == Format::kTable) session_.data() << WatchHeader();
  }

  absl::Status Take(const std::string& bytes) {
    pb::WatchResponse response;
    if (!response.ParseFromString(bytes)) {
      return absl::InternalError(
          "the server's answer cannot be read: does it run another release?");
    }
    if (session_.settings.format == Format::kTable) {
      session_.data() << WatchLines(response);
    } else {
      session_.data() << ToJson(response, JsonForm::kLine);
    }
    session_.data().flush();
    told_ = true;
    if (response.complete()) complete_ = response.revision();
    // A message without a commit time only says that nothing has changed, so it is not counted.
    if (response.complete() && response.has_committed_at() && ++count_ == max_) {
      return absl::CancelledError("enough");
    }
    return absl::OkStatus();
  }

  bool enough() const { return max_ > 0 && count_ >= max_; }
  const std::optional<pb::Revision>& complete() const { return complete_; }
  // Whether any message has arrived since the last call of this function.
  bool TakeTold() { return std::exchange(told_, false); }

 private:
  Session& session_;
  const int64_t max_;
  int64_t count_ = 0;
  bool told_ = false;
  std::optional<pb::Revision> complete_;
};

// Whether another stream may be opened after a stream that ended with `status`.
bool MayResume(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable || ReasonOf(status) == "WATCHER_TOO_SLOW";
}

absl::Status Watch(Session& session, const WatchArguments& arguments) {
  if (arguments.snapshot && !arguments.after.empty()) {
    return absl::InvalidArgumentError("give either --snapshot or --after REVISION");
  }
  BERTH_ASSIGN_OR_RETURN(auto request, RequestOf(session, arguments));
  ShowWatched show(session, arguments.revisions_max);
  int attempts = 0;
  while (true) {  // ends with an error, an interrupt, or enough revisions
    absl::Status status = session.Server().Stream(
        kWatchMethod, {request.SerializeAsString()}, session.settings.timeout,
        [&show](const std::string& bytes) { return show.Take(bytes); });
    if (show.enough() || ReasonOf(status) == kInterrupted) return absl::OkStatus();
    attempts = show.TakeTold() ? 0 : attempts + 1;
    // If no revision was received completely, the command cannot continue: another stream would
    // begin the snapshot anew.
    if (!MayResume(status) || !show.complete() || attempts == kAttemptsMax) return status;
    *request.mutable_after_revision() = *show.complete();
    session.Say(absl::StrCat("continuing after revision ", show.complete()->number()));
    absl::SleepFor(kResumeAfter);
  }
}

}  // namespace

void AddWatchCommand(CLI::App& app, Session& session) {
  CLI::App* command = AddVerb(app, "watch", "Print every change as it is committed",
                              "berth watch --kind consumer --tree dc1-h07\n"
                              "berth watch --snapshot --output json\n"
                              "berth watch --after 48231",
                              "Operate");
  WatchArguments& arguments = Does(command, session, Watch);
  command->add_flag("--snapshot", arguments.snapshot,
                    "Begin with everything that the ledger holds");
  command->add_option("--after", arguments.after,
                      "Begin with the changes after this revision: [EPOCH:]NUMBER");
  AddList(command, "--kind", &arguments.kinds,
          "Only these kinds: provider, usage, consumer (holder of allocations), class, trait, "
          "service, node, aggregate (its name and metadata), server_group, instance (record of a "
          "guest), migration (record of a guest's move)");
  AddList(command, "--tree", &arguments.trees,
          "Only changes in the trees of these providers (name or uuid); with --after they must be "
          "roots");
  AddList(command, "--aggregate", &arguments.aggregates,
          "Only changes in trees with a member in one of these aggregates");
  command->add_option("--revisions", arguments.revisions_max, "End after this many revisions")
      ->check(CLI::PositiveNumber);
}

}  // namespace berth::cli
