// CertifiedSite: a placement process and the trackers of some hosts, all with certificates of one
// CA, and channels to them for callers of any identity.
//
// The hosts are of libvirt's test driver. Each has two NUMA cells and one guest, which is an orphan.
// Three CPUs of cell 0 are online: 0 is shared, 2 and 4 are dedicated. For the main thread; Connect
// and the readers are for every thread.
#ifndef BERTH_TESTS_FAULT_CERTIFIED_SITE_H_
#define BERTH_TESTS_FAULT_CERTIFIED_SITE_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/fault/call_within.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/tracker_process.h"

namespace berth::fault {

// How long a call of an honest caller may take.
inline constexpr absl::Duration kAnswerMax = absl::Seconds(30);
// The reason in the ErrorInfo of the status. Empty: there is none.
std::string ReasonIn(const grpc::Status& status);
// All that a caller is told, with "id" for `uuid`.
std::string Told(const grpc::Status& status, const std::string& uuid);

class CertifiedSite {
 public:
  struct Host {
    std::string name;
    std::string node;  // its uuid
    placement::ScratchDirectory directory;
    std::unique_ptr<e2e::TrackerProcess> tracker;
    std::unique_ptr<tracker::v1::TrackerService::Stub> service;  // as an administrator
  };

  // Starts placement, with these arguments beside its certificates, and `hosts` trackers. The test
  // fails if one does not start.
  explicit CertifiedSite(int hosts, const std::vector<std::string>& placement_arguments = {});

  // A channel of its own for the caller with this role and name, for example "scheduler/one".
  std::shared_ptr<grpc::Channel> Connect(const std::string& identity,
                                         const std::string& address) const;
  std::shared_ptr<grpc::Channel> ConnectToPlacement(const std::string& identity) const {
    return Connect(identity, placement_->address());
  }

  // What a good certificate of `identity` says.
  static testing::CertificateWords WordsOf(const std::string& identity);
  // A certificate of the CA that the programs trust.
  testing::IssuedCertificate Issue(const testing::CertificateWords& words) const {
    return ca_.Issue(words);
  }
  // A channel of its own with any certificate, or with none.
  std::shared_ptr<grpc::Channel> ConnectWith(const testing::IssuedCertificate& own,
                                             const std::string& address) const;
  std::shared_ptr<grpc::Channel> ConnectWithout(const std::string& address) const;

  e2e::PlacementServer& placement() const { return *placement_; }
  const std::vector<std::unique_ptr<Host>>& hosts() const { return hosts_; }
  // The only node of the host as its tracker sees it.
  static tracker::v1::GetNodeViewResponse ViewOf(const Host& host);

 private:
  // The arguments that give a program the certificate of `identity`, and then `more`.
  std::vector<std::string> CertificateOf(const std::string& identity,
                                         const std::vector<std::string>& more = {}) const;
  void StartTracker(Host* host);

  const testing::CertificateAuthority ca_{"site"};
  const placement::ScratchDirectory directory_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_CERTIFIED_SITE_H_
