// The access file limits a real tracker over mutual TLS: what placement stores, what the tracker finds,
// and what an operator gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/tracker_process.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
using e2e::InvokeOn;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLimitsDomain[] = "d.example";
// A tenth of what libvirt's test driver has.
constexpr char kLimits[] = R"(
[withheld]
traits = ["CUSTOM_LICENSED"]
resource_classes = ["CUSTOM_GOLD"]
[ceilings]
tracker = {MEMORY_MB = 100000}
"tracker/host-1" = {MEMORY_MB = 307}
)";
// The tracker's host claims to have them.
constexpr char kProviderFile[] = R"(
meta: {schema_version: '1.0'}
providers:
- identification: {uuid: $COMPUTE_NODE}
  inventories: {additional: [{CUSTOM_GOLD: {total: 5}}]}
  traits: {additional: [CUSTOM_LICENSED, CUSTOM_OWN]}
)";

class LimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteRules(kLimits);
    std::vector<std::string> arguments = Certificates("placement/one");
    arguments.push_back("--access-file=" + AccessFile());
    placement_ = e2e::StartOrDie(scratch_.path(), std::move(arguments));
    admin_ = ChannelTo(placement_->address());
    const std::string providers = scratch_.path() + "/providers";
    std::filesystem::create_directories(providers);
    std::ofstream(providers + "/a.yaml") << kProviderFile;
    arguments = Certificates("tracker/host-1");
    arguments.insert(
        arguments.end(),
        {"--host=host-1", "--placement=" + placement_->address(), "--hypervisor=test:///default",
         "--provider-config-location=" + providers, "--orphans=report"});
    tracker_ = std::make_unique<e2e::TrackerProcess>(scratch_.path(), std::move(arguments));
    ASSERT_TRUE(tracker_->AwaitAddress().ok()) << tracker_->Log();
    service_ = tracker::v1::TrackerService::NewStub(ChannelTo(tracker_->address()));
  }

  std::string AccessFile() const { return scratch_.path() + "/access.toml"; }
  void WriteRules(const std::string& text) const { std::ofstream(AccessFile()) << text; }
  std::vector<std::string> Certificates(const std::string& identity) const {
    const std::string uri = absl::StrCat("spiffe://", kLimitsDomain, "/", identity);
    const std::string name = identity.substr(0, identity.find('/'));
    return testing::TlsArguments(
        testing::WriteCertificates(scratch_.path(), name, ca_.Issue(uri), ca_.pem()),
        kLimitsDomain);
  }
  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) const {
    const auto own = ca_.Issue(absl::StrCat("spiffe://", kLimitsDomain, "/admin/ann"));
    return testing::OwnChannel(address, testing::ClientCredentials(own, ca_.pem()));
  }
  void Do(const std::string& method, const google::protobuf::Message& request,
          google::protobuf::Message* response) const {
    const grpc::Status status = InvokeOn(admin_, method, request, response);
    EXPECT_TRUE(status.ok()) << method << ": " << status.error_message();
  }
  // Waits until `holds`.
  static bool Await(const std::function<bool()>& holds) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (!holds()) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return true;
  }

  tracker::v1::GetNodeViewResponse View() const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    tracker::v1::GetNodeViewResponse view;
    service_->GetNodeView(&context, {}, &view);
    return view;
  }
  template <typename Findings>
  static std::vector<std::string> LimitsIn(const Findings& findings) {
    std::vector<std::string> texts;
    for (const pb::Finding& finding : findings) {
      if (finding.kind() == pb::FINDING_KIND_LIMITED) texts.push_back(finding.message());
    }
    return texts;
  }
  // What the tracker finds, once placement's record of the node says the same.
  std::vector<std::string> AwaitFindings(size_t count) {
    std::vector<std::string> found;
    EXPECT_TRUE(Await([&] {
      const tracker::v1::GetNodeViewResponse view = View();
      if (view.node().node_uuid().empty()) return false;
      node_ = view.node().node_uuid();
      pb::GetNodeRequest request;
      request.set_node_uuid(node_);
      request.set_view(pb::NODE_VIEW_FULL);
      pb::GetNodeResponse response;
      if (!InvokeOn(admin_, "FleetService/GetNode", request, &response).ok()) return false;
      found = LimitsIn(view.findings());
      return found.size() == count && LimitsIn(response.node().findings()) == found;
    })) << tracker_->Log();
    return found;
  }

  pb::Provider Root() const {
    pb::GetProviderRequest request;
    request.set_provider_uuid(node_);
    request.set_view(pb::PROVIDER_VIEW_FULL);
    pb::GetProviderResponse response;
    Do("ProviderService/GetProvider", request, &response);
    return response.provider();
  }
  int64_t Total(const std::string& name) const {
    const pb::Provider root = Root();
    const auto found = root.inventories().find(name);
    return found == root.inventories().end() ? 0 : found->second.total();
  }
  bool HasTrait(const std::string& trait) const {
    const pb::Provider root = Root();
    return std::find(root.traits().begin(), root.traits().end(), trait) != root.traits().end();
  }
  // An operator changes the total of VCPU. The tracker reports the root, as a delta, to have its own
  // total again.
  void HaveRootReported() const {
    const int64_t own = Total("VCPU");
    pb::UpdateInventoryRequest request;
    const pb::Provider root = Root();
    request.set_provider_uuid(node_);
    request.set_expected_generation(root.generation());
    request.set_resource_class("VCPU");
    *request.mutable_inventory() = root.inventories().at("VCPU");
    request.mutable_inventory()->set_total(own + 1);
    pb::UpdateInventoryResponse response;
    Do("InventoryService/UpdateInventory", request, &response);
    EXPECT_TRUE(Await([&] { return Total("VCPU") == own; })) << tracker_->Log();
  }

  const testing::CertificateAuthority ca_{"one"};
  const placement::ScratchDirectory scratch_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::shared_ptr<grpc::Channel> admin_;
  std::unique_ptr<e2e::TrackerProcess> tracker_;
  std::unique_ptr<tracker::v1::TrackerService::Stub> service_;
  std::string node_;
};

TEST_F(LimitsTest, ATrackerCannotRaiseItsCapacityBeyondItsCeiling) {
  EXPECT_THAT(AwaitFindings(3),
              ElementsAre(HasSubstr("does not get the trait CUSTOM_LICENSED"),
                          HasSubstr("has 0 CUSTOM_GOLD in placement instead of 5"),
                          HasSubstr("has 307 MEMORY_MB in placement instead of 3072")));
  EXPECT_EQ(Total("MEMORY_MB"), 307);
  EXPECT_EQ(Total("CUSTOM_GOLD"), 0);
  EXPECT_FALSE(HasTrait("CUSTOM_LICENSED"));
  EXPECT_TRUE(HasTrait("CUSTOM_OWN"));
  EXPECT_GT(View().facts().memory_mib(), 3000) << "the tracker counts what the host has";

  // An operator gives the trait, and an inventory of the class.
  pb::EnsureTraitRequest trait;
  trait.set_name("CUSTOM_LICENSED");
  pb::EnsureTraitResponse ensured;
  Do("CatalogService/EnsureTrait", trait, &ensured);
  pb::EnsureClassRequest of_class;
  of_class.set_name("CUSTOM_GOLD");
  pb::EnsureClassResponse made;
  Do("CatalogService/EnsureClass", of_class, &made);
  const pb::Provider root = Root();
  pb::SetProviderTraitsRequest give;
  give.set_provider_uuid(node_);
  give.set_expected_generation(root.generation());
  *give.mutable_traits() = root.traits();
  give.add_traits("CUSTOM_LICENSED");
  pb::SetProviderTraitsResponse given;
  Do("AssociationService/SetProviderTraits", give, &given);
  pb::CreateInventoryRequest gold;
  gold.set_provider_uuid(node_);
  gold.set_resource_class("CUSTOM_GOLD");
  gold.mutable_inventory()->set_total(2);
  pb::CreateInventoryResponse created;
  Do("InventoryService/CreateInventory", gold, &created);
  EXPECT_THAT(AwaitFindings(2),
              ElementsAre(HasSubstr("has 2 CUSTOM_GOLD in placement instead of 5"),
                          HasSubstr("has 307 MEMORY_MB")));
  HaveRootReported();
  EXPECT_TRUE(HasTrait("CUSTOM_LICENSED"));
  EXPECT_EQ(Total("CUSTOM_GOLD"), 2);
  EXPECT_EQ(Total("MEMORY_MB"), 307);

  // Other rules count from the next report of the provider.
  WriteRules("[ceilings]\ntracker = {MEMORY_MB = 1000}\n");
  placement_->Signal(SIGHUP);
  ASSERT_TRUE(Await([&] { return absl::StrContains(placement_->Log(), "\"ceilings\":1"); }));
  HaveRootReported();
  EXPECT_THAT(AwaitFindings(1), ElementsAre(HasSubstr("has 1000 MEMORY_MB")));
  EXPECT_EQ(Total("MEMORY_MB"), 1000);
  EXPECT_EQ(Total("CUSTOM_GOLD"), 5);
  EXPECT_TRUE(HasTrait("CUSTOM_LICENSED"));
}

}  // namespace
}  // namespace berth::fault
