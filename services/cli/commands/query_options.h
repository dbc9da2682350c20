// The options for a candidate query and for the order of candidates, which several commands have in
// common.
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
  std::vector<std::string> root_forbidden_aggregates, forbidden_roots;
  std::vector<std::string> groups, same_subtree, isolate, separate, max_providers;
  std::string in_tree, group_policy;
  bool include_disabled = false;  // true: hosts whose service is disabled are searched, too
  bool exclude_stale = false;
  bool ignore_unknown_forbidden = false;
};

// The options for the order of candidates.
struct OrderOptions {
  std::string strategy;
  std::vector<std::string> class_weights, trait_weights;
  std::optional<uint64_t> seed;
};

void AddOrderOptions(CLI::App* command, OrderOptions* options);

// Returns the order that the options ask for; an empty order if no option is given.
// kInvalidArgument for invalid weights.
absl::StatusOr<placement::v1::CandidateOrder> OrderOf(const OrderOptions& options);

// Adds the options to `command`. Their values are stored in `options`, which must live as long as
// `command`.
void AddQueryOptions(CLI::App* command, QueryOptions* options);

// Returns the query that the options describe. kInvalidArgument for an invalid value, kNotFound if
// --in-tree names no provider. Otherwise fails like the call that looks up the tree.
absl::StatusOr<placement::v1::CandidateQuery> QueryOf(Session& session,
                                                      const QueryOptions& options);

// Parses `SUFFIX:CLASS=AMOUNT[,...][:KEY=A,B]...`. KEY is required, forbidden, member-of or
// in-tree.
absl::StatusOr<placement::v1::RequestGroup> ParseGroup(const std::string& text);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_QUERY_OPTIONS_H_
