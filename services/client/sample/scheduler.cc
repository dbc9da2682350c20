#include "services/client/sample/scheduler.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "services/client/cpp/call.h"
#include "services/client/cpp/candidates.h"
#include "services/client/cpp/filters.h"
#include "services/client/cpp/weighers.h"

namespace berth::sample {
namespace {

namespace pb = ::berth::placement::v1;

// A query names 4,096 roots at most, so an instance is tried on so many hosts at most.
constexpr int kHostsOfSearch = 1000, kSearchesMax = 4;
constexpr absl::Duration kAgeMax = absl::Seconds(30);  // of what the mirror knows

// The hosts that pass all filters, best first. Adds to `refused` which filter refused which host.
std::vector<std::pair<const client::HostView*, double>> Choose(const client::Hosts::Views& views,
                                                               const client::HostRequest& request,
                                                               std::string* refused) {
  std::vector<const client::HostView*> passing;
  for (const client::Hosts::Host& host : views.hosts) {
    absl::string_view refusing;
    for (const client::HostFilter& filter : client::HostFilters()) {
      if (!filter.passes(*host, request, client::HostLimits())) refusing = filter.name;
      if (!refusing.empty()) break;
    }
    if (refusing.empty()) passing.push_back(host.get());
    if (!refusing.empty()) absl::StrAppend(refused, "; ", NameOf(*host), " ", refusing);
  }
  return client::WeighHosts(client::NovaMultipliers(), request, passing);
}

// Whether another host may do after this refusal: this one has changed since the search.
bool IsOfThisHost(const client::Failure& failure) {
  static const std::set<std::string> kReasons = {"CAPACITY_EXCEEDED",
                                                 "SERVER_GROUP_POLICY_VIOLATED", "NO_INVENTORY",
                                                 "PROVIDER_NOT_FOUND", "UNIT_CONSTRAINT_VIOLATED"};
  return kReasons.count(failure.reason) > 0;
}

}  // namespace

Scheduler::Scheduler(std::shared_ptr<client::Endpoints> endpoints)
    : endpoints_(std::move(endpoints)),
      mirror_(endpoints_, {client::Hosts::Kinds()},
              {[this](const client::ViewChange& change) { hosts_.Follow(change); }}) {}

bool Scheduler::AwaitHosts(absl::Duration timeout) {
  return mirror_.Await(pb::Revision(), timeout) != nullptr;
}

absl::StatusOr<Place> Scheduler::PlaceInstance(const pb::Instance& instance) {
  client::HostRequest request;
  request.instance_uuid = instance.uuid();
  request.extra_specs = {instance.flavor().extra_specs().begin(),
                         instance.flavor().extra_specs().end()};
  const auto query = client::QueryOf(instance.flavor());
  if (!query.ok()) return query.status();
  if (mirror_.status().age > kAgeMax) return absl::UnavailableError("the view of hosts is too old");
  pb::FindCandidatesRequest search;
  *search.mutable_query() = *query;
  search.set_limit(kHostsOfSearch);
  search.set_omit_summaries(true);
  search.set_form(pb::CANDIDATE_FORM_TABLE);
  std::string refused;
  for (int i = 0; i < kSearchesMax; ++i) {
    pb::FindCandidatesResponse found;
    const client::Failure asked =
        client::Read(endpoints_.get(), &pb::CandidateService::Stub::FindCandidates, search, &found);
    if (!asked.ok()) return StatusOf(asked);
    const auto candidates = client::Candidates::Of(std::move(*found.mutable_table()));
    if (!candidates.ok()) return candidates.status();
    client::Hosts::Views views = hosts_.ViewsOf(candidates->roots(), instance.group_uuid());
    request.group = std::move(views.group);
    for (const auto& [host, weight] : Choose(views, request, &refused)) {
      const client::Failure failure = Allocate(instance, *candidates->BestOf(host->node->uuid()));
      if (failure.ok()) {
        // If the node has gone meanwhile, nothing is left to take from.
        hosts_.Consume(host->node->uuid(), instance).IgnoreError();
        return Place{NameOf(*host), host->node->uuid(), LimitsOf(*host)};
      }
      if (!IsOfThisHost(failure)) return StatusOf(failure);
      absl::StrAppend(&refused, "; ", NameOf(*host), " ", failure.reason);
    }
    if (candidates->roots().empty()) break;
    for (const absl::string_view root : candidates->roots()) {
      search.mutable_query()->add_forbidden_root_uuids(std::string(root));
    }
  }
  return NoValidNode(*query, std::move(refused));
}

client::Failure Scheduler::Allocate(const pb::Instance& instance, const pb::Candidate& candidate) {
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations& consumer = *request.add_consumers();
  consumer.set_consumer_uuid(instance.uuid());
  consumer.mutable_new_consumer();
  consumer.set_project_id(instance.project_id());
  consumer.set_user_id(instance.user_id());
  consumer.set_consumer_type("INSTANCE");
  *consumer.mutable_allocations() = candidate.allocations();
  *consumer.mutable_mappings() = candidate.mappings();
  pb::SetAllocationsResponse done;
  return client::Write(endpoints_.get(), &pb::AllocationService::Stub::SetAllocations, request,
                       &done);
}

absl::Status Scheduler::NoValidNode(const pb::CandidateQuery& query, std::string refused) {
  pb::ExplainRequest request;
  *request.mutable_query() = query;
  pb::ExplainResponse response;
  const client::Failure failure =
      client::Read(endpoints_.get(), &pb::CandidateService::Stub::Explain, request, &response);
  if (!failure.ok()) return StatusOf(failure);
  for (const pb::NearMiss& miss : response.explanation().near_misses()) {
    const client::Hosts::Views views = hosts_.ViewsOf({miss.root_uuid()});
    absl::StrAppend(&refused, "; ", views.hosts.empty() ? miss.name() : NameOf(*views.hosts[0]),
                    " lacks");
    for (const pb::Shortfall& shortfall : miss.shortfalls()) {
      const pb::Constraint& constraint = shortfall.constraint();
      const bool forbids = constraint.kind() == pb::CONSTRAINT_KIND_FORBIDDEN_TRAITS;
      absl::StrAppend(&refused, forbids ? " !" : " ", absl::StrJoin(constraint.names(), "|"));
      if (constraint.amount() == 0) continue;  // it is no amount
      absl::StrAppend(&refused, " ", constraint.amount(), " (has ", shortfall.available(), ")");
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "No valid node was found: ", response.explanation().fitting_root_count(), " of ",
      response.explanation().root_count(), " roots have what the flavor asks for", refused));
}

}  // namespace berth::sample
