#include "tests/fault/certified_site.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/processes/client_credentials.h"

namespace berth::fault {
namespace {

constexpr char kDomain[] = "berth.test";
constexpr absl::Duration kStartMax = absl::Seconds(60);
constexpr absl::Duration kLook = absl::Milliseconds(20);  // between two looks

std::string UriOf(const std::string& identity) {
  return absl::StrCat("spiffe://", kDomain, "/", identity);
}

}  // namespace

std::string ReasonIn(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details())) return "";
  for (const auto& detail : details.details()) {
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "";
}

std::string Told(const grpc::Status& status, const std::string& uuid) {
  std::string told = absl::StrCat(status.error_code(), " ", status.error_message());
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    EXPECT_TRUE(detail.UnpackTo(&info));
    absl::StrAppend(&told, " ", info.ShortDebugString());  // which sorts its map
  }
  return absl::StrReplaceAll(told, {{uuid, "id"}});
}

CertifiedSite::CertifiedSite(int hosts, const std::vector<std::string>& placement_arguments)
    : placement_(
          e2e::StartOrDie(directory_.path(), CertificateOf("placement/one", placement_arguments))) {
  for (int i = 1; i <= hosts; ++i) {
    Host* const host = hosts_.emplace_back(std::make_unique<Host>()).get();
    host->name = absl::StrCat("host-", i);
    StartTracker(host);
  }
  for (const auto& host : hosts_) {
    const absl::Time until = absl::Now() + kStartMax;
    const auto is_ready = [&] {
      const tracker::v1::GetNodeViewResponse view = ViewOf(*host);
      host->node = view.node().node_uuid();
      return view.node().acknowledged_sequence() > 0 && view.providers_size() > 0;
    };
    while (!is_ready() && absl::Now() < until) {
      std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLook));
    }
    EXPECT_TRUE(is_ready()) << host->tracker->Log();
  }
}

std::vector<std::string> CertifiedSite::CertificateOf(const std::string& identity,
                                                      const std::vector<std::string>& more) const {
  const std::string name = absl::StrReplaceAll(identity, {{"/", "-"}});
  std::vector<std::string> arguments = testing::TlsArguments(
      testing::WriteCertificates(directory_.path(), name, ca_.Issue(UriOf(identity)), ca_.pem()),
      kDomain);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void CertifiedSite::StartTracker(Host* host) {
  std::vector<std::string> arguments = CertificateOf("tracker/" + host->name);
  arguments.insert(arguments.end(),
                   {"--placement=" + placement_->address(), "--host=" + host->name,
                    absl::StrCat("--hypervisor=node-of-", host->name, "=test:///default"),
                    "--virt-type=qemu",  // a node of type test offers no NUMA cells
                    "--orphans=report",  // the driver's guest is larger than its host
                    "--cpu-shared-set=0", "--cpu-dedicated-set=2,4", "--log-format=text"});
  host->tracker =
      std::make_unique<e2e::TrackerProcess>(host->directory.path(), std::move(arguments));
  EXPECT_TRUE(host->tracker->AwaitAddress().ok()) << host->tracker->Log();
  host->service =
      tracker::v1::TrackerService::NewStub(Connect("admin/site", host->tracker->address()));
}

std::shared_ptr<grpc::Channel> CertifiedSite::Connect(const std::string& identity,
                                                      const std::string& address) const {
  return ConnectWith(Issue(WordsOf(identity)), address);
}

testing::CertificateWords CertifiedSite::WordsOf(const std::string& identity) {
  testing::CertificateWords words;
  words.uris = {UriOf(identity)};
  return words;
}

std::shared_ptr<grpc::Channel> CertifiedSite::ConnectWith(const testing::IssuedCertificate& own,
                                                          const std::string& address) const {
  return testing::OwnChannel(address, testing::ClientCredentials(own, ca_.pem()));
}

std::shared_ptr<grpc::Channel> CertifiedSite::ConnectWithout(const std::string& address) const {
  return testing::OwnChannel(address, testing::ClientCredentials(ca_.pem()));
}

tracker::v1::GetNodeViewResponse CertifiedSite::ViewOf(const Host& host) {
  tracker::v1::GetNodeViewResponse view;
  host.service->GetNodeView(CallWithin(kAnswerMax).get(), {}, &view);
  return view;
}

}  // namespace berth::fault
