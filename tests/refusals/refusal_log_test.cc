// What the log of the real placement has of callers whom it refuses, over TLS: each reason, with the
// caller and the method, and few lines however many calls there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <functional>
#include <map>
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
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/calls.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"

namespace berth::refusals {
namespace {

namespace pb = ::berth::placement::v1;
using e2e::ClaimOn;
using e2e::InvokeOn;
using e2e::PlacementServer;
using e2e::Random;
using e2e::ReasonOf;
using e2e::StartOrDie;
using ::testing::HasSubstr;

constexpr char kRefusalDomain[] = "d.example";
constexpr absl::Duration kRefusalWait = absl::Seconds(30);  // bounds a failure alone

class RefusalLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("[[denied]]\nidentity = \"reader/denied\"\n");
    std::vector<std::string> arguments = testing::TlsArguments(
        testing::WriteCertificates(scratch_.path(), "placement", ca_.Issue(Uri("placement/one")),
                                   ca_.pem()),
        kRefusalDomain);
    arguments.push_back("--access-file=" + file());
    arguments.emplace_back("--access-log=none");  // which hides no refusal of a caller
    placement_ = StartOrDie(scratch_.path(), std::move(arguments));
  }

  static std::string Uri(const std::string& identity) {
    return absl::StrCat("spiffe://", kRefusalDomain, "/", identity);
  }
  std::string file() const { return scratch_.path() + "/access.toml"; }
  void Write(const std::string& text) const { std::ofstream(file()) << text; }
  void Reread(const std::string& text) const {
    Write(text);
    placement_->Signal(SIGHUP);
  }

  std::shared_ptr<grpc::Channel> Connect(const testing::IssuedCertificate& own) const {
    return testing::OwnChannel(placement_->address(), testing::ClientCredentials(own, ca_.pem()));
  }
  std::shared_ptr<grpc::Channel> Connect(const std::string& identity) const {
    return Connect(ca_.Issue(Uri(identity)));
  }

  static grpc::Status WhoAmI(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kRefusalWait));
    access::v1::WhoAmIResponse response;
    return access::v1::AccessService::NewStub(channel)->WhoAmI(&context, {}, &response);
  }

  // The lines of the log in which each of these fields has this value.
  std::vector<nlohmann::json> Lines(const std::map<std::string, std::string>& fields) const {
    std::vector<nlohmann::json> lines;
    const std::string log = placement_->Log();
    for (const absl::string_view text : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
      nlohmann::json line = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
      bool fits = line.is_object();
      for (const auto& [key, value] : fields) {
        fits = fits && line.contains(key) && line[key] == value;
      }
      if (fits) lines.push_back(std::move(line));
    }
    return lines;
  }
  static bool Await(const std::function<bool()>& holds) {
    const absl::Time until = absl::Now() + kRefusalWait;
    while (!holds()) {
      if (absl::Now() > until) return false;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return true;
  }

  const testing::CertificateAuthority ca_{"one"};
  const placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> placement_;
};

TEST_F(RefusalLogs, ABurstOfRefusalsIsAHandfulOfLines) {
  constexpr int kThreads = 4;
  constexpr int kCallsEach = 2500;
  const absl::Time begun = absl::Now();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([channel = Connect("reader/denied")] {
      for (int call = 0; call < kCallsEach; ++call) {
        EXPECT_EQ(ReasonOf(WhoAmI(channel)), "IDENTITY_DENIED");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto seconds = static_cast<size_t>(absl::ToInt64Seconds(absl::Now() - begun));
  const auto lines = [this] {
    return Lines({{"caller", "reader/denied"}, {"reason", "IDENTITY_DENIED"}});
  };
  EXPECT_GE(lines().size(), 1u);
  EXPECT_LE(lines().size(), seconds + 2);
  // The next line tells how many calls were left out.
  const size_t before = lines().size();
  int more = 0;
  const auto channel = Connect("reader/denied");
  ASSERT_TRUE(Await([&] {
    ++more;
    WhoAmI(channel);
    return lines().size() > before;
  }));
  int64_t told = 0;
  for (const nlohmann::json& line : lines()) {
    told += 1 + line["omitted"].get<int64_t>();
    EXPECT_EQ(line["method"], "berth.access.v1.AccessService/WhoAmI");
    EXPECT_EQ(line["level"], "warning");
  }
  EXPECT_EQ(told, kThreads * kCallsEach + more);
}

// In one burst, so that no reason may hide another.
TEST_F(RefusalLogs, EachReasonOfOneCallerHasItsLine) {
  Reread(
      "[scheduler.nova]\nprojects = [\"mine\"]\n[rates]\n"
      "\"scheduler/nova\" = {calls_per_second = 0.001, burst = 50}\n");
  const std::map<std::string, std::string> in_force = {{"msg", "the access file is in force"}};
  ASSERT_TRUE(Await([&] { return Lines(in_force).size() == 2; }));
  const auto nova = Connect("scheduler/nova");
  std::string last;
  for (int i = 0; i < 100; ++i) {
    pb::SetFormatResponse format;
    InvokeOn(nova, "LedgerService/SetFormat", pb::SetFormatRequest(), &format);
    pb::SetAllocationsResponse set;  // for the project "p"
    last = ReasonOf(InvokeOn(nova, "AllocationService/SetAllocations", ClaimOn(Random(), 1), &set));
  }
  EXPECT_EQ(last, "RATE_LIMITED");
  Reread("denied = [\"scheduler/nova\"]\n");
  ASSERT_TRUE(Await([&] { return ReasonOf(WhoAmI(nova)) == "IDENTITY_DENIED"; }));
  const std::pair<const char*, const char*> reasons[] = {
      {"ROLE_NOT_PERMITTED", "berth.placement.v1.LedgerService/SetFormat"},
      {"POLICY_DENIED", "berth.placement.v1.AllocationService/SetAllocations"},
      {"RATE_LIMITED", "berth.placement.v1.AllocationService/SetAllocations"},
      {"IDENTITY_DENIED", "berth.access.v1.AccessService/WhoAmI"}};
  for (const auto& [reason, method] : reasons) {
    const auto lines = Lines({{"caller", "scheduler/nova"}, {"reason", reason}});
    ASSERT_FALSE(lines.empty()) << reason << "\n" << placement_->Log();
    EXPECT_EQ(lines[0]["method"], method);
  }
}

TEST_F(RefusalLogs, WhoFindsNoPlaceHasALine) {
  const auto admin = Connect("admin/ann");
  const auto stub = pb::LedgerService::NewStub(admin);
  grpc::ClientContext first_context;
  pb::ImportLedgerResponse response;
  const auto first = stub->ImportLedger(&first_context, &response);
  // The first import has the place as soon as a second one is refused.
  ASSERT_TRUE(Await([&] {
    grpc::ClientContext context;
    pb::ImportLedgerResponse refused;
    const auto second = stub->ImportLedger(&context, &refused);
    second->WritesDone();
    return ReasonOf(second->Finish()) == "OVERLOADED";
  }));
  const auto lines = Lines({{"caller", "admin/ann"}, {"reason", "OVERLOADED"}});
  ASSERT_FALSE(lines.empty()) << placement_->Log();
  EXPECT_EQ(lines[0]["method"], "berth.placement.v1.LedgerService/ImportLedger");
  first_context.TryCancel();
  first->Finish();
}

TEST_F(RefusalLogs, ACertificateThatIsRefusedIsToldWithItsReason) {
  const testing::CertificateAuthority other("two");
  testing::CertificateWords expired;
  expired.uris = {Uri("reader/expired")};
  expired.not_after = absl::Now() - absl::Minutes(1);
  testing::CertificateWords later;
  later.uris = {Uri("reader/later")};
  later.not_before = absl::Now() + absl::Minutes(30);
  testing::CertificateWords two;
  two.uris = {Uri("reader/two"), Uri("admin/two")};
  testing::CertificateWords dns;
  dns.dns = {Uri("reader/dns")};
  dns.common_name = "dns";
  struct Case {
    testing::IssuedCertificate issued;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {ca_.Issue(expired), {"certificate has expired", Uri("reader/expired"), "issuer CN=one"}},
      {ca_.Issue(later), {"certificate is not yet valid", Uri("reader/later")}},
      {other.Issue(Uri("reader/foreign")), {"local issuer", Uri("reader/foreign"), "CN=two"}},
      {ca_.Issue(two), {"has 2 URIs", Uri("reader/two"), Uri("admin/two"), "serial number"}},
      {ca_.Issue(dns), {"has 0 URIs", "subject CN=dns"}},
      {ca_.Issue("spiffe://other.example/reader/a"),
       {"is that of spiffe://other.example/reader/a"}},
  };
  const auto lines_with = [this](const std::string& words) {
    std::vector<std::string> lines;
    for (const nlohmann::json& line : Lines({{"level", "warning"}})) {
      if (absl::StrContains(line["msg"].get<std::string>(), words)) lines.push_back(line.dump());
    }
    return lines;
  };
  for (const Case& c : cases) {
    const absl::Time begun = absl::Now();
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(WhoAmI(Connect(c.issued)).ok());
    ASSERT_TRUE(Await([&] { return !lines_with(c.words[0]).empty(); })) << c.words[0] << "\n"
                                                                        << placement_->Log();
    const auto lines = lines_with(c.words[0]);
    for (const std::string& word : c.words) EXPECT_THAT(lines[0], HasSubstr(word));
    EXPECT_LE(lines.size(), static_cast<size_t>(absl::ToInt64Seconds(absl::Now() - begun)) + 2);
  }
  EXPECT_FALSE(
      WhoAmI(testing::OwnChannel(placement_->address(), testing::ClientCredentials(ca_.pem())))
          .ok());
  EXPECT_TRUE(Await([&] { return !lines_with("peer did not return a certificate").empty(); }))
      << placement_->Log();
}

}  // namespace
}  // namespace berth::refusals
