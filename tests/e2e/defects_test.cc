// Defects that OpenStack Placement is known to have in single calls, by their numbers in the
// specification, over real sockets and a real PostgreSQL. Those of two writers who meet are in
// tests/placement.
#include <signal.h>

#include <future>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/reshape.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/ledger_runner.h"

namespace berth::e2e {
namespace {

using ::berth::placement::ConnectOrDie;
using ::berth::placement::LedgerRunner;
using ::berth::placement::QueryOne;

class Defects : public CallsTest {
 protected:
  static void Set(const std::string& uuid, const std::map<std::string, int64_t>& totals,
                  const std::vector<std::string>& traits = {},
                  const std::vector<std::string>& aggregates = {}) {
    pb::SetInventoriesRequest inventories;
    inventories.set_provider_uuid(uuid);
    inventories.set_expected_generation(Read(uuid).generation());
    for (const auto& [name, total] : totals) {
      (*inventories.mutable_inventories())[name].set_total(total);
    }
    pb::SetInventoriesResponse offered;
    Do("InventoryService/SetInventories", inventories, &offered);
    pb::SetProviderTraitsRequest has;
    has.set_provider_uuid(uuid);
    has.set_expected_generation(offered.generation());
    for (const std::string& trait : traits) has.add_traits(trait);
    pb::SetProviderTraitsResponse had;
    Do("AssociationService/SetProviderTraits", has, &had);
    pb::SetProviderAggregatesRequest in;
    in.set_provider_uuid(uuid);
    in.set_expected_generation(had.generation());
    for (const std::string& aggregate : aggregates) in.add_aggregate_uuids(aggregate);
    pb::SetProviderAggregatesResponse was;
    Do("AssociationService/SetProviderAggregates", in, &was);
  }

  static pb::FindCandidatesResponse Find(const pb::FindCandidatesRequest& request) {
    pb::FindCandidatesResponse found;
    Do("CandidateService/FindCandidates", request, &found);
    return found;
  }
};

// A placement of its own over a database of its own, and a host in it.
struct Place {
  explicit Place(const std::string& at)
      : url(at), server(StartAt(directory.path(), url)), channel(Connect()) {}

  std::shared_ptr<grpc::Channel> Connect() const {
    return grpc::CreateChannel(server->address(), CredentialsOf());
  }
  template <typename Response>
  Response Do(const std::string& method, const Message& request) const {
    Response response;
    const grpc::Status status = InvokeOn(channel, method, request, &response);
    EXPECT_TRUE(status.ok()) << method << ": " << status.error_message();
    return response;
  }
  std::string NewHost() const {
    pb::CreateProviderRequest create;
    create.set_name("host");
    const auto host =
        Do<pb::CreateProviderResponse>("ProviderService/CreateProvider", create).provider();
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(host.uuid());
    set.set_expected_generation(host.generation());
    (*set.mutable_inventories())["VCPU"].set_total(8);
    Do<pb::SetInventoriesResponse>("InventoryService/SetInventories", set);
    return host.uuid();
  }

  const std::string url;
  placement::ScratchDirectory directory;
  std::unique_ptr<PlacementServer> server;
  std::shared_ptr<grpc::Channel> channel;
};

constexpr char kOfTheWriter[] =
    " FROM pg_stat_activity WHERE application_name = 'berth-placement writer' AND datname = "
    "current_database()";

// Kills the server of `place` while the rows of `claim` are written and its log row is not; then
// PostgreSQL loses the transaction, or completes it.
void KillInMidWrite(const Place& place, const pb::SetAllocationsRequest& claim, bool lost) {
  const auto observer = ConnectOrDie(place.url);
  const auto count = [&observer](const std::string& what) {
    return QueryOne(*observer, absl::StrCat("SELECT count(*)", kOfTheWriter, what));
  };
  ASSERT_TRUE(observer->Run("BEGIN; LOCK TABLE log IN SHARE MODE", nullptr).ok());
  std::future<grpc::Status> answer = std::async(std::launch::async, [&place, &claim] {
    pb::SetAllocationsResponse response;
    return InvokeOn(place.channel, "AllocationService/SetAllocations", claim, &response);
  });
  ASSERT_TRUE(
      LedgerRunner::Eventually([&] { return count(" AND wait_event = 'relation'") == "1"; }));
  place.server->Signal(SIGKILL);
  EXPECT_EQ(answer.get().error_code(), grpc::StatusCode::UNAVAILABLE);  // P-237: unknown
  if (lost) {
    const std::string end = "SELECT bool_and(pg_terminate_backend(pid, 5000))";
    EXPECT_EQ(QueryOne(*observer, absl::StrCat(end, kOfTheWriter)), "t");
  }
  ASSERT_TRUE(observer->Run("ROLLBACK", nullptr).ok());
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return count("") == "0"; }));
}

// The peer writes consumer and claim in transactions of their own: a server that dies in between
// leaves a consumer that holds nothing and refuses every later `new`.
TEST_F(Defects, D3_AServerThatDiesBetweenStatementsLeavesAllOrNothing) {
  for (const bool lost : {true, false}) {
    SCOPED_TRACE(lost ? "lost" : "completed");
    const Place first(placement::NewDatabase());
    const std::string host = first.NewHost();
    pb::SetAllocationsRequest claim = ClaimOn(host, 5);
    ASSERT_NO_FATAL_FAILURE(KillInMidWrite(first, claim, lost));

    const Place second(first.url);
    pb::ListProviderAllocationsRequest list;
    list.set_provider_uuid(host);
    const auto held = second.Do<pb::ListProviderAllocationsResponse>(
        "AllocationService/ListProviderAllocations", list);
    EXPECT_EQ(held.consumers_size(), lost ? 0 : 1);  // D-3, P-3
    const auto take = [&] {
      pb::SetAllocationsResponse response;
      return ReasonOf(
          InvokeOn(second.channel, "AllocationService/SetAllocations", claim, &response));
    };
    if (held.consumers_size() > 0) {
      EXPECT_EQ(take(), "CONSUMER_GENERATION_CONFLICT");
      claim.mutable_consumers(0)->set_generation(held.consumers(0).generation());
    }
    EXPECT_EQ(take(), "");  // D-3
    EXPECT_TRUE(second.Do<pb::SelfCheckResponse>("LedgerService/SelfCheck", pb::SelfCheckRequest())
                    .clean());
  }
}

// The peer's grouped query is no valid SQL for PostgreSQL: every GetUsages is an internal error.
TEST_F(Defects, D7_UsagesAreAnsweredOverPostgres) {
  const auto [host, generation] = NewHost();
  const std::string project = Random();
  for (const char* type : {"INSTANCE", "INSTANCE", "MIGRATION"}) {
    pb::SetAllocationsRequest claim = ClaimOn(host, 2);
    claim.mutable_consumers(0)->set_project_id(project);
    claim.mutable_consumers(0)->set_consumer_type(type);
    pb::SetAllocationsResponse claimed;
    Do("AllocationService/SetAllocations", claim, &claimed);
  }
  const auto usages = [&project = project](const char* user, const char* type) {
    pb::GetUsagesRequest get;
    get.set_project_id(project);
    if (user != nullptr) get.set_user_id(user);
    if (type != nullptr) get.set_consumer_type(type);
    pb::GetUsagesResponse got;
    Do("UsageService/GetUsages", get, &got);
    std::string text;
    for (const pb::UsageGroup& group : got.groups()) {
      absl::StrAppend(&text, group.consumer_type(), " ", group.consumer_count(), " ",
                      group.resources().at("VCPU"), "; ");
    }
    return text;
  };
  EXPECT_EQ(usages(nullptr, nullptr), "INSTANCE 2 4; MIGRATION 1 2; ");  // D-7, P-164
  EXPECT_EQ(usages("u", nullptr), "INSTANCE 2 4; MIGRATION 1 2; ");      // D-7, P-164
  EXPECT_EQ(usages("nobody", nullptr), "");                              // P-158
  EXPECT_EQ(usages(nullptr, "MIGRATION"), "MIGRATION 1 2; ");            // D-7, P-164
  EXPECT_EQ(usages(nullptr, "all"), "all 3 6; ");                        // D-7, P-164
  EXPECT_EQ(usages(nullptr, "unknown"), "");                             // P-161
}

// The peer answers with an internal error where the sharing provider is no root and its own root
// is not to be had.
TEST_F(Defects, D8_ASharingProviderMayStandBelowARoot) {
  const std::string aggregate = Random();
  const std::string host = NewProvider().uuid();
  Set(host, {{"VCPU", 8}}, {"HW_CPU_X86_AVX"}, {aggregate});
  const std::string cabinet = NewProvider().uuid();
  const std::string pool = NewProvider(cabinet).uuid();
  Set(pool, {{"DISK_GB", 100}}, {"MISC_SHARES_VIA_AGGREGATE"}, {aggregate});
  pb::FindCandidatesRequest find;
  pb::RequestGroup* group = find.mutable_query()->add_groups();
  (*group->mutable_resources())["VCPU"] = 1;
  (*group->mutable_resources())["DISK_GB"] = 10;
  group->add_member_of()->add_any_of(aggregate);
  find.mutable_query()->add_root_required_traits()->add_any_of("HW_CPU_X86_AVX");
  const pb::FindCandidatesResponse found = Find(find);
  ASSERT_EQ(found.candidates_size(), 1);  // D-8, P-111
  std::set<std::string> serving;
  for (const auto& each : found.candidates(0).allocations()) serving.insert(each.provider_uuid());
  EXPECT_EQ(serving, (std::set<std::string>{host, pool}));  // D-8, P-111
  pb::SetAllocationsRequest claim = ClaimOn(host, 1);
  *claim.mutable_consumers(0)->mutable_allocations() = found.candidates(0).allocations();
  *claim.mutable_consumers(0)->mutable_mappings() = found.candidates(0).mappings();
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);  // P-116, P-203
}

// A way to give a provider an inventory.
struct Way {
  const char* method;
  std::unique_ptr<Message> request, response;
};

template <typename Request, typename Response>
Way MakeWay(const char* method, const Request& request) {
  return {method, std::make_unique<Request>(request), std::make_unique<Response>()};
}

template <typename Response, typename Request>
Way OneClass(const char* method, const pb::Provider& host, const std::string& resource_class,
             const pb::Inventory& inventory) {
  Request request;
  request.set_provider_uuid(host.uuid());
  request.set_expected_generation(host.generation());
  request.set_resource_class(resource_class);
  *request.mutable_inventory() = inventory;
  return MakeWay<Request, Response>(method, request);
}

// Every way there is to give `host` the inventory; it has one of VCPU.
std::vector<Way> AllWays(const pb::Provider& host, const std::string& resource_class,
                         const pb::Inventory& inventory) {
  pb::SetInventoriesRequest set;
  pb::ReshapeRequest reshape;
  pb::ApplyTopologyRequest topology;
  pb::ProviderInventories* reshaped = reshape.add_providers();
  pb::ProviderTopology* wanted = topology.add_providers();
  const auto guard = [&host](auto* request) {
    request->set_provider_uuid(host.uuid());
    request->set_expected_generation(host.generation());
  };
  guard(&set);
  guard(reshaped);
  guard(wanted);
  reshaped->set_expected_allocation_generation(host.allocation_generation());
  wanted->set_expected_allocation_generation(host.allocation_generation());
  (*set.mutable_inventories())[resource_class] = inventory;
  (*reshaped->mutable_inventories())[resource_class] = inventory;
  (*wanted->mutable_inventories()->mutable_inventories())[resource_class] = inventory;
  std::vector<Way> ways;
  ways.push_back(MakeWay<pb::SetInventoriesRequest, pb::SetInventoriesResponse>(
      "InventoryService/SetInventories", set));
  ways.push_back(
      MakeWay<pb::ReshapeRequest, pb::ReshapeResponse>("ReshapeService/Reshape", reshape));
  ways.push_back(MakeWay<pb::ApplyTopologyRequest, pb::ApplyTopologyResponse>(
      "ReshapeService/ApplyTopology", topology));
  ways.push_back(OneClass<pb::UpdateInventoryResponse, pb::UpdateInventoryRequest>(
      "InventoryService/UpdateInventory", host, resource_class, inventory));
  ways.push_back(OneClass<pb::CreateInventoryResponse, pb::CreateInventoryRequest>(
      "InventoryService/CreateInventory", host,
      resource_class == "VCPU" ? "DISK_GB" : resource_class, inventory));
  return ways;
}

// The peer lets in reserves above the total where the ratio makes the capacity look right, ratios
// that are none, and, where all inventories are replaced or reshaped, names that are none.
TEST_F(Defects, D9_NoWayInForAnInventoryThatIsNone) {
  struct Fault {
    const char* resource_class;
    int64_t reserved;
    double ratio;
    const char* reason;
  };
  const Fault faults[] = {
      {"VCPU", 11, 0.5, "INVALID_INVENTORY"},
      {"VCPU", 11, -1, "INVALID_INVENTORY"},
      {"VCPU", 0, 0, "INVALID_INVENTORY"},
      {"VCPU", 0, -1, "INVALID_INVENTORY"},
      {"VCPU", 0, std::numeric_limits<double>::quiet_NaN(), "INVALID_INVENTORY"},
      {"VCPU", 0, std::numeric_limits<double>::infinity(), "INVALID_INVENTORY"},
      {"vcpu'", 0, 1, "INVALID_FIELD"},
  };
  const pb::Provider before = Read(NewHost().first);
  for (const Fault& fault : faults) {
    SCOPED_TRACE(absl::StrCat(fault.resource_class, " ", fault.reserved, " ", fault.ratio));
    pb::Inventory inventory;
    inventory.set_total(10);
    inventory.set_reserved(fault.reserved);
    inventory.set_allocation_ratio(fault.ratio);
    for (const Way& way : AllWays(before, fault.resource_class, inventory)) {
      const grpc::Status status = Invoke(way.method, *way.request, way.response.get());
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << way.method;  // D-9
      EXPECT_EQ(ReasonOf(status), fault.reason) << way.method;  // D-9, P-16, P-17
    }
  }
  EXPECT_EQ(Read(before.uuid()).SerializeAsString(), before.SerializeAsString());  // P-237
}

// The peer forgets `in_tree` of a group without resources, and finds nothing where such a group only
// forbids, or only names a tree.
TEST_F(Defects, D10_GroupsWithoutResourcesObeyTheirFilters) {
  const std::string host = NewProvider().uuid(), other = NewProvider().uuid();
  const std::string aggregate = Random();
  std::map<std::string, std::string> uuids;
  for (const std::string side : {"1", "2"}) {
    uuids["n" + side] = NewProvider(host).uuid();
    uuids["l" + side] = NewProvider(uuids["n" + side]).uuid();
    Set(uuids["l" + side], {{"VCPU", 1}});
  }
  Set(uuids["n1"], {}, {"HW_NUMA_ROOT"}, {aggregate});
  // The providers that the group "_2" got, as often as they did, by name.
  const auto serving = [&](const std::function<void(pb::RequestGroup*)>& fill) {
    pb::FindCandidatesRequest find;
    pb::RequestGroup* resources = find.mutable_query()->add_groups();
    resources->set_suffix("_1");
    resources->set_in_tree(host);
    (*resources->mutable_resources())["VCPU"] = 1;
    pb::RequestGroup* none = find.mutable_query()->add_groups();
    none->set_suffix("_2");
    fill(none);
    find.mutable_query()->set_group_policy(pb::GROUP_POLICY_NONE);
    for (const char* suffix : {"_1", "_2"}) {
      if (find.query().same_subtree_size() == 0) find.mutable_query()->add_same_subtree();
      find.mutable_query()->mutable_same_subtree(0)->add_suffixes(suffix);
    }
    std::multiset<std::string> names;
    const pb::FindCandidatesResponse found = Find(find);
    for (const pb::Candidate& candidate : found.candidates()) {
      for (const pb::GroupMapping& mapping : candidate.mappings()) {
        if (mapping.suffix() != "_2") continue;
        std::string name = "host";
        for (const auto& [short_name, uuid] : uuids) {
          if (uuid == mapping.provider_uuids(0)) name = short_name;
        }
        names.insert(name);
      }
    }
    return names;
  };
  using Names = std::multiset<std::string>;
  EXPECT_EQ(serving([&](auto* group) { group->set_in_tree(host); }),
            (Names{"host", "host", "l1", "l2", "n1", "n2"}));  // D-10, P-183
  EXPECT_EQ(serving([&](auto* group) {
              group->set_in_tree(other);
              group->add_forbidden_traits("HW_CPU_X86_AVX");
            }),
            Names{});  // D-10, P-183
  EXPECT_EQ(serving([&](auto* group) { group->add_forbidden_traits("HW_NUMA_ROOT"); }),
            (Names{"host", "host", "l1", "l2", "n2"}));  // D-10, P-183
  EXPECT_EQ(serving([&](auto* group) { group->add_forbidden_aggregate_uuids(aggregate); }),
            (Names{"host", "host", "l1", "l2", "n2"}));  // D-10, P-183
}

}  // namespace
}  // namespace berth::e2e
