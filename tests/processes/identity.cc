#include "tests/processes/identity.h"

#include <cstdlib>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "placement/ground/mutex.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {
namespace {

constexpr char kTestDomain[] = "berth.test";

// A certificate with the files that hold it.
struct IssuedIdentity {
  testing::IssuedCertificate issued;
  testing::CertificatePaths paths;
};

// Lives until the process has ended, because gRPC's credentials may. The directory does not.
class Identities {
 public:
  static Identities& Get() {
    static Identities* const identities = new Identities;
    return *identities;
  }

  const IssuedIdentity& Of(const std::string& identity) {
    placement::MutexLock lock(&mutex_);
    return Issue(identity);
  }

  std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& identity) {
    placement::MutexLock lock(&mutex_);
    std::shared_ptr<grpc::ChannelCredentials>& credentials = credentials_[identity];
    if (credentials == nullptr) {
      credentials = testing::ClientCredentials(Issue(identity).issued, ca_.pem());
    }
    return credentials;
  }

 private:
  const IssuedIdentity& Issue(const std::string& identity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    static const placement::ScratchDirectory directory;
    const auto [place, fresh] = identities_.try_emplace(identity);
    if (!fresh) return place->second;
    IssuedIdentity& made = place->second;
    made.issued = ca_.Issue(absl::StrCat("spiffe://", kTestDomain, "/", identity));
    made.paths = testing::WriteCertificates(
        directory.path(), absl::StrReplaceAll(identity, {{"/", "-"}}), made.issued, ca_.pem());
    return made;
  }

  const testing::CertificateAuthority ca_{"test"};
  placement::Mutex mutex_;
  std::map<std::string, IssuedIdentity> identities_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<grpc::ChannelCredentials>> credentials_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool HaveCertificates() {
  const char* const wanted = std::getenv("BERTH_TEST_CERTIFICATES");
  return wanted != nullptr && std::string(wanted) == "1";
}

std::vector<std::string> CertificateArguments(const std::string& identity) {
  if (!HaveCertificates()) return {};
  return testing::TlsArguments(Identities::Get().Of(identity).paths, kTestDomain);
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& identity) {
  if (!HaveCertificates()) return grpc::InsecureChannelCredentials();
  return Identities::Get().CredentialsOf(identity);
}

}  // namespace berth::e2e
