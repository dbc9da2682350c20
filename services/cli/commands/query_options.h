// The query and the order of candidates and claims, from the options that both commands have.
#ifndef BERTH_SERVICES_CLI_COMMANDS_QUERY_OPTIONS_H_
#define BERTH_SERVICES_CLI_COMMANDS_QUERY_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/placement/v1/query.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/session.h"

namespace berth::cli {

struct QueryOptions {
  std::vector<std::string> resources, required, forbidden, member_of, forbidden_aggregates;
  std::vector<std::string> root_required, root_forbidden, root_member_of;
  std::vector<std::string> root_forbidden_aggregates;
  std::vector<std::string> groups, same_subtree, isolate, separate, max_providers;
  std::string in_tree, group_policy;
  bool include_disabled = false;  // hosts whose service an operator disabled
  bool exclude_stale = false;
  bool ignore_unknown_forbidden = false;
};

// Which places come first.
struct OrderOptions {
  std::string strategy;
  std::vector<std::string> class_weights, trait_weights;
  std::optional<uint64_t> seed;
};

void AddOrderOptions(CLI::App* command, OrderOptions* options);

// The order; empty where no option says one. kInvalidArgument for weights that do not read.
absl::StatusOr<placement::v1::CandidateOrder> OrderOf(const OrderOptions& options);

// Adds the options to `command`; what they say goes to `options`, which must live as long.
void AddQueryOptions(CLI::App* command, QueryOptions* options);

// The query. kInvalidArgument for what does not read; kNotFound for an unknown --in-tree; errors of
// the call that looks that up.
absl::StatusOr<placement::v1::CandidateQuery> QueryOf(Session& session,
                                                      const QueryOptions& options);

// `SUFFIX:CLASS=AMOUNT[,...][:KEY=A,B]...`, KEY one of required, forbidden, member-of, in-tree.
absl::StatusOr<placement::v1::RequestGroup> ParseGroup(const std::string& text);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_QUERY_OPTIONS_H_
