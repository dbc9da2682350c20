#include "services/tls/tls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "placement/ground/status_macros.h"
#include "services/client/cpp/certificates.h"

namespace berth::services {
namespace {

constexpr unsigned int kRefreshSeconds = 1;

absl::Status MemoryError() {
  return absl::InternalError(
      absl::StrCat("cannot keep certificates in memory: ", std::strerror(errno)));
}

// A file in memory whose content changes at once. It has a path, which only this process can open.
// It is never closed, because gRPC may read the path for longer than the Tls lives.
class MemoryFile {
 public:
  MemoryFile() = default;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Whoever opens the path from now on reads `text`. gRPC opens the path of a pair twice, and looks
  // at the file's time before and after, to the second. So each content gets a time of its own.
  absl::Status Replace(const std::string& text) {
    const int made = memfd_create("certificates", MFD_CLOEXEC);
    if (made < 0) return MemoryError();
    const timespec time = {++contents_, 0};
    const timespec times[] = {time, time};
    bool good = fchmod(made, S_IRUSR) == 0 &&
                write(made, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                futimens(made, times) == 0;
    if (number_ < 0) {
      if (good) number_ = made;
      return good ? absl::OkStatus() : MemoryError();
    }
    good = good && dup3(made, number_, O_CLOEXEC) >= 0;
    const absl::Status status = good ? absl::OkStatus() : MemoryError();
    close(made);
    return status;
  }
  std::string path() const { return absl::StrCat("/proc/self/fd/", number_); }

 private:
  int number_ = -1;
  time_t contents_ = 0;
};

// What gRPC reads. The key and its certificates are one file, so that they change together.
struct HandedOver {
  absl::Status Replace(const client::CertificateTexts& texts) {
    BERTH_RETURN_IF_ERROR(ca.Replace(texts.ca));
    return pair.Replace(absl::StrCat(texts.key, texts.certificate));
  }
  MemoryFile pair;
  MemoryFile ca;
};

}  // namespace

absl::Status CheckTls(const client::TlsSettings& settings, client::CertificateUse use) {
  if (!settings.given()) return absl::OkStatus();
  use.server = true;
  return client::OwnCertificate::Open(settings, std::move(use), nullptr).status();
}

absl::StatusOr<std::unique_ptr<Tls>> Tls::Open(const client::TlsSettings& settings,
                                               client::CertificateUse use, Tell tell,
                                               const Tell& tell_of_peers) {
  use.server = true;
  const auto files = std::make_shared<HandedOver>();
  BERTH_ASSIGN_OR_RETURN(
      client::OwnCertificate own,
      OwnCertificate::Open(
          settings, std::move(use), std::move(tell), tell_of_peers,
          [files](const client::CertificateTexts& texts) { return files->Replace(texts); }));
  const std::string pair = files->pair.path();
  auto provider = std::make_shared<Provider>(pair, pair, files->ca.path(), kRefreshSeconds);
  return std::unique_ptr<Tls>(new Tls(std::move(own), std::move(provider)));
}

Tls::Tls(client::OwnCertificate own, std::shared_ptr<Provider> provider)
    : OwnCertificate(std::move(own)), provider_(std::move(provider)) {}

absl::Status Tls::CheckTrust(const std::string& chain) const {
  return client::CheckClientChain(chain, cas());
}

std::shared_ptr<grpc::ServerCredentials> Tls::ForServer() const {
  grpc::experimental::TlsServerCredentialsOptions options(provider_);
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  SetPeers(&options, {});
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace berth::services
