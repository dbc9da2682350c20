#include "services/cli/commands/consumer_filter.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/util/time_util.h"
#include "services/cli/session/provider_names.h"

namespace berth::cli {

namespace pb = ::berth::placement::v1;

using google::protobuf::util::TimeUtil;

bool ConsumerFilter::empty() const {
  return project.empty() && user.empty() && type.empty() && tree.empty() && idle.empty() &&
         !leased && !unleased;
}

void AddConsumerFilter(CLI::App* command, ConsumerFilter* filter) {
  command->add_option("--project", filter->project, "Only consumers that this project pays for");
  command->add_option("--user", filter->user, "Only consumers that this user asked for");
  command->add_option("--type", filter->type,
                      "Only consumers of this type; `unknown`: without a type");
  command->add_option("--tree", filter->tree,
                      "Only consumers with allocations in the tree of this provider");
  command->add_option("--idle", filter->idle,
                      "Only consumers that have not changed for this time, such as 720h");
  CLI::Option* const leased =
      command->add_flag("--leased", filter->leased, "Only consumers with a lease");
  command->add_flag("--unleased", filter->unleased, "Only consumers without a lease")
      ->excludes(leased);
}

absl::StatusOr<pb::ListConsumersRequest> ListOf(Session& session, const ConsumerFilter& filter) {
  pb::ListConsumersRequest request;
  if (!filter.project.empty()) request.set_project_id(filter.project);
  if (!filter.user.empty()) request.set_user_id(filter.user);
  if (!filter.type.empty()) request.set_consumer_type(filter.type);
  if (filter.leased || filter.unleased) request.set_leased(filter.leased);
  if (!filter.idle.empty()) {
    absl::Duration idle;
    if (!absl::ParseDuration(filter.idle, &idle) || idle < absl::ZeroDuration()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", filter.idle, "' is not a duration: write 90s, 12h or 720h"));
    }
    *request.mutable_updated_before() =
        TimeUtil::SecondsToTimestamp(absl::ToUnixSeconds(absl::Now() - idle));
  }
  if (!filter.tree.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, filter.tree));
    request.set_in_tree(uuid);
  }
  return request;
}

}  // namespace berth::cli
