#include <string>
#include <vector>

#include "berth/placement/v1/candidate.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/query_options.h"
#include "services/cli/text/explain_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kNearMisses = 10;
constexpr int kRoots = 100;

struct ExplainArguments {
  QueryOptions query;
  int near = kNearMisses;
};

absl::Status Explain(Session& session, const ExplainArguments& arguments) {
  pb::ExplainRequest request;
  BERTH_ASSIGN_OR_RETURN(*request.mutable_query(), QueryOf(session, arguments.query));
  request.set_near_miss_limit(arguments.near);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::ExplainResponse>(request));
  std::vector<std::string> roots;
  for (const pb::NearMiss& miss : answer.explanation().near_misses()) {
    roots.push_back(miss.root_uuid());
  }
  return session.Print(answer, ExplanationPage(answer.explanation(), session.screen), roots);
}

struct CapacityArguments {
  QueryOptions query;
  int limit = kRoots;
};

absl::Status Capacity(Session& session, const CapacityArguments& arguments) {
  pb::GetCapacityRequest request;
  BERTH_ASSIGN_OR_RETURN(*request.mutable_query(), QueryOf(session, arguments.query));
  request.set_root_limit(arguments.limit);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetCapacityResponse>(request));
  std::vector<std::string> roots;
  for (const pb::RootCapacity& root : answer.roots()) roots.push_back(root.root_uuid());
  return session.Print(answer, CapacityPage(answer, session.screen), roots);
}

}  // namespace

void AddExplainCommands(CLI::App& app, Session& session) {
  CLI::App* explain = AddVerb(
      app, "explain", "Explain why a request fits on some hosts only, or on none",
      "berth explain --resources VCPU=16,MEMORY_MB=64Gi --required CUSTOM_A100", "Find and claim");
  ExplainArguments& why = Does(explain, session, Explain);
  AddQueryOptions(explain, &why.query);
  explain
      ->add_option("--near", why.near,
                   "List at most this many hosts on which the request nearly fits")
      ->check(CLI::Range(1, 100));

  CLI::App* capacity = AddVerb(
      app, "capacity", "Count how many more times a request fits, on each host and in total",
      "berth capacity --resources VCPU=4,MEMORY_MB=8Gi", "Find and claim");
  CapacityArguments& room = Does(capacity, session, Capacity);
  AddQueryOptions(capacity, &room.query);
  capacity->add_option("--limit", room.limit, "List at most this many roots")
      ->check(CLI::Range(1, 1000));
}

}  // namespace berth::cli
