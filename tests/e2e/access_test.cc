// The access file of the real program: an identity is denied at SIGHUP, while its calls are open, and
// a scheduler writes only for its projects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;

constexpr char kAccessDomain[] = "d.example";
// How long after its denial a call may still be open: three times what is promised.
constexpr absl::Duration kDeniedWithin = absl::Seconds(3);

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteRules("# nobody is limited\n");
    std::vector<std::string> arguments = testing::TlsArguments(
        testing::WriteCertificates(scratch_.path(), "placement",
                                   ca_.Issue("spiffe://d.example/placement/one"), ca_.pem()),
        kAccessDomain);
    arguments.push_back("--access-file=" + AccessFile());
    placement_ = StartOrDie(scratch_.path(), std::move(arguments));
  }

  std::string AccessFile() const { return scratch_.path() + "/access.toml"; }
  void WriteRules(const std::string& text) const { std::ofstream(AccessFile()) << text; }

  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& identity) const {
    const auto own = ca_.Issue(absl::StrCat("spiffe://", kAccessDomain, "/", identity));
    return testing::OwnChannel(placement_->address(), testing::ClientCredentials(own, ca_.pem()));
  }

  static grpc::Status ListTraits(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::ListTraitsResponse response;
    return pb::CatalogService::NewStub(channel)->ListTraits(&context, {}, &response);
  }

  // Writes `text`, has it read, and waits until one more line of the log has `words`.
  void PutRules(const std::string& text, const std::string& words) const {
    const size_t before = LinesWith(words);
    WriteRules(text);
    placement_->Signal(SIGHUP);
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (LinesWith(words) == before) {
      ASSERT_LT(absl::Now(), deadline) << placement_->Log();
      absl::SleepFor(absl::Milliseconds(20));
    }
  }
  size_t LinesWith(const std::string& words) const {
    const std::string log = placement_->Log();
    size_t count = 0;
    for (const absl::string_view line : absl::StrSplit(log, '\n')) {
      if (absl::StrContains(line, words)) ++count;
    }
    return count;
  }

  const testing::CertificateAuthority ca_{"one"};
  const placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> placement_;
};

// A watch that is open; Ended waits for its end.
class OpenWatch {
 public:
  explicit OpenWatch(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(pb::WatchService::NewStub(channel)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    pb::WatchRequest request;
    request.mutable_snapshot();
    stream_ = stub_->Watch(&context_, request);
    pb::WatchResponse response;
    begun_ = stream_->Read(&response);
  }
  bool begun() const { return begun_; }
  grpc::Status Ended() {
    pb::WatchResponse response;
    while (stream_->Read(&response)) continue;
    return stream_->Finish();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<pb::WatchService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<pb::WatchResponse>> stream_;
  bool begun_ = false;
};

TEST_F(AccessTest, AnIdentityIsDeniedWhileItsCallsAreOpen) {
  const auto denied = ChannelOf("reader/ann");
  const auto other = ChannelOf("reader/bob");
  OpenWatch watch(denied);
  OpenWatch staying(other);
  ASSERT_TRUE(watch.begun());
  ASSERT_TRUE(staying.begun());

  // A file with a fault changes nothing.
  PutRules("denied = [\"reader/bob\", \"reader/ann\"\n", "the access file is refused");
  EXPECT_TRUE(ListTraits(denied).ok());

  PutRules("denied = [\"reader/ann\"]\n", "\"denied\":1");
  const absl::Time denied_at = absl::Now();
  const grpc::Status refused = ListTraits(denied);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_details(), HasSubstr("IDENTITY_DENIED"));
  const grpc::Status ended = watch.Ended();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::PERMISSION_DENIED) << ended.error_message();
  EXPECT_THAT(ended.error_message(), HasSubstr("has denied the identity reader/ann"));
  EXPECT_LT(absl::Now(), denied_at + kDeniedWithin);

  // Another identity of the same role goes on, and its stream, too.
  EXPECT_TRUE(ListTraits(other).ok());
  staying.Cancel();
  EXPECT_EQ(staying.Ended().error_code(), grpc::StatusCode::CANCELLED);
}

// A provider with 8 VCPU; its uuid.
std::string MakeProvider(const std::shared_ptr<grpc::Channel>& channel) {
  pb::CreateProviderRequest create;
  create.set_name("provider-" + Random());
  pb::CreateProviderResponse created;
  EXPECT_TRUE(InvokeOn(channel, "ProviderService/CreateProvider", create, &created).ok());
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(created.provider().uuid());
  set.set_expected_generation(created.provider().generation());
  (*set.mutable_inventories())["VCPU"].set_total(8);
  pb::SetInventoriesResponse done;
  EXPECT_TRUE(InvokeOn(channel, "InventoryService/SetInventories", set, &done).ok());
  return created.provider().uuid();
}

std::string ItemOf(const grpc::Status& status, const std::string& key) {
  for (const google::rpc::ErrorInfo& info : InfosOf(status)) {
    const auto found = info.metadata().find(key);
    if (found != info.metadata().end()) return found->second;
  }
  return "";
}

grpc::Status AskRules(const std::shared_ptr<grpc::Channel>& channel,
                      access::v1::GetAccessRulesResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  return access::v1::AccessService::NewStub(channel)->GetAccessRules(&context, {}, response);
}

TEST_F(AccessTest, ASchedulerWritesForItsProjectsAlone) {
  PutRules("[scheduler.nova]\nprojects = [\"mine\"]\n", "\"schedulers\":1");
  const auto admin = ChannelOf("admin/ann");
  const auto nova = ChannelOf("scheduler/nova");
  const std::string provider = MakeProvider(admin);
  const auto claim = [&](const std::string& project) {
    pb::SetAllocationsRequest request = ClaimOn(provider, 1);
    request.mutable_consumers(0)->set_project_id(project);
    return request;
  };
  const auto set = [](const auto& channel, const pb::SetAllocationsRequest& request) {
    pb::SetAllocationsResponse response;
    return InvokeOn(channel, "AllocationService/SetAllocations", request, &response);
  };
  EXPECT_TRUE(set(nova, claim("mine")).ok());
  const grpc::Status foreign = set(nova, claim("theirs"));
  EXPECT_EQ(foreign.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReasonOf(foreign), "POLICY_DENIED");
  EXPECT_EQ(ItemOf(foreign, "field"), "consumers[0].project_id");

  // What another project holds: neither released nor claimed again, but it may be read.
  const pb::SetAllocationsRequest theirs = claim("theirs");
  const std::string consumer = theirs.consumers(0).consumer_uuid();
  ASSERT_TRUE(set(ChannelOf("scheduler/other"), theirs).ok());
  pb::DeleteAllocationsRequest remove;
  remove.set_consumer_uuid(consumer);
  pb::DeleteAllocationsResponse removed;
  const grpc::Status kept = InvokeOn(nova, "AllocationService/DeleteAllocations", remove, &removed);
  EXPECT_EQ(ReasonOf(kept), "POLICY_DENIED");
  EXPECT_EQ(ItemOf(kept, "consumer"), consumer);
  EXPECT_EQ(ItemOf(kept, "field"), "consumer_uuid");
  pb::ClaimRequest again;
  again.mutable_consumer()->set_consumer_uuid(consumer);
  again.mutable_consumer()->mutable_new_consumer();
  again.mutable_consumer()->set_project_id("mine");
  again.mutable_consumer()->set_user_id("u");
  again.mutable_consumer()->set_consumer_type("INSTANCE");
  (*again.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  pb::ClaimResponse claimed;
  const grpc::Status unclaimed = InvokeOn(nova, "CandidateService/Claim", again, &claimed);
  EXPECT_EQ(ReasonOf(unclaimed), "POLICY_DENIED") << unclaimed.error_message();
  EXPECT_EQ(ItemOf(unclaimed, "field"), "consumer.consumer_uuid");
  pb::GetAllocationsRequest read;
  read.set_consumer_uuid(consumer);
  pb::GetAllocationsResponse held;
  EXPECT_TRUE(InvokeOn(nova, "AllocationService/GetAllocations", read, &held).ok());
  EXPECT_EQ(held.consumer().project_id(), "theirs");

  // What is in force is told to operators.
  access::v1::GetAccessRulesResponse told;
  EXPECT_EQ(AskRules(nova, &told).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(AskRules(ChannelOf("operator/ops"), &told).ok());
  EXPECT_EQ(told.file(), AccessFile());
  EXPECT_EQ(told.digest().size(), 64U);
  EXPECT_EQ(told.fault(), "");
  ASSERT_EQ(told.schedulers_size(), 1);
  EXPECT_EQ(told.schedulers(0).identity(), "scheduler/nova");
  EXPECT_EQ(told.schedulers(0).projects(0), "mine");

  // Without the section the scheduler may write for all.
  PutRules("# nobody is limited\n", "\"schedulers\":0");
  EXPECT_TRUE(InvokeOn(nova, "AllocationService/DeleteAllocations", remove, &removed).ok());
}

}  // namespace
}  // namespace berth::e2e
