#include "services/tls/tls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/support/log.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "placement/ground/check.h"
#include "placement/ground/mutex.h"
#include "placement/ground/status_macros.h"
#include "services/tls/listener.h"
#include "services/tls/peer_verifier.h"
#include "services/tls/refused_handshake.h"

namespace berth::services {
namespace {

using grpc::experimental::FileWatcherCertificateProvider;
using grpc::experimental::IdentityKeyCertPair;
using grpc::experimental::StaticDataCertificateProvider;

constexpr unsigned int kRefreshSeconds = 1;

CertificateUse WithDomain(CertificateUse use, const TlsSettings& settings) {
  use.trust_domain = settings.trust_domain;
  return use;
}

absl::Status CheckWhole(const TlsSettings& settings) {
  const std::pair<const char*, const std::string*> parts[] = {
      {"--tls-certificate", &settings.files.certificate},
      {"--tls-key", &settings.files.key},
      {"--tls-ca", &settings.files.ca},
      {"--trust-domain", &settings.trust_domain}};
  for (const auto& [name, value] : parts) {
    if (!value->empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     " is missing: give all of --tls-certificate, --tls-key, --tls-ca and "
                     "--trust-domain, or none of them"));
  }
  const absl::Status domain = CheckTrustDomain(settings.trust_domain);
  if (domain.ok()) return domain;
  return absl::InvalidArgumentError(absl::StrCat("--trust-domain: ", domain.message()));
}

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
  absl::Status Replace(const CertificateTexts& texts) {
    BERTH_RETURN_IF_ERROR(ca.Replace(texts.ca));
    return pair.Replace(absl::StrCat(texts.key, texts.certificate));
  }
  MemoryFile pair;
  MemoryFile ca;
};

Listener& GrpcLogListener() {
  static auto* const listener = new Listener();
  return *listener;
}

void OnGrpcLog(gpr_log_func_args* line) {
  const absl::string_view text = line->message;
  // Said for every connection: the client has sent an address as the name of the server.
  if (absl::StartsWith(text, "No match found for server name")) return;
  const bool handshake = absl::StrContains(text, "andshake");
  GrpcLogListener().Tell(line->severity == GPR_LOG_SEVERITY_ERROR,
                         absl::StrCat(handshake ? "a TLS handshake failed: " : kGrpcWords, text));
}

}  // namespace

absl::Status CheckTls(const TlsSettings& settings, CertificateUse use) {
  if (!settings.given()) return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(CheckWhole(settings));
  BERTH_ASSIGN_OR_RETURN(const CertificateTexts texts, ReadCertificateFiles(settings.files));
  return CheckCertificates(settings.files, texts, WithDomain(std::move(use), settings), absl::Now())
      .status();
}

class Tls::Impl {
 public:
  Impl(const TlsSettings& given, CertificateUse wanted, Tell told, Tell told_of_peers)
      : settings(given),
        use(WithDomain(std::move(wanted), given)),
        tell(std::move(told)),
        tell_of_peers(std::move(told_of_peers)) {}

  absl::Status TakeOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    absl::StatusOr<CertificateTexts> read = ReadCertificateFiles(settings.files);
    if (!read.ok()) return read.status();
    if (*read == in_use) return absl::OkStatus();
    BERTH_ASSIGN_OR_RETURN(const CheckedCertificates checked,
                           CheckCertificates(settings.files, *read, use, absl::Now()));
    if (use.server) BERTH_RETURN_IF_ERROR(files.Replace(checked.texts));
    if (checked.texts.ca != handed_over.ca) ++ca_changes;
    ++renewals;
    in_use = *std::move(read);
    handed_over = checked.texts;
    not_after = checked.not_after;
    fresh = true;
    return absl::OkStatus();
  }

  // Sets all but the provider of the certificates.
  void Set(grpc::experimental::TlsCredentialsOptions* options, std::vector<std::string> roles) {
    options->watch_root_certs();
    options->watch_identity_key_cert_pairs();
    options->set_certificate_verifier(
        MakePeerVerifier(settings.trust_domain, std::move(roles), tell_of_peers));
    options->set_check_call_host(false);
  }

  const TlsSettings settings;
  const CertificateUse use;
  const Tell tell;
  const Tell tell_of_peers;
  // Gives listeners what `files` have. Constant after Open. Null: `use` is not that of a server.
  std::shared_ptr<FileWatcherCertificateProvider> provider;
  mutable placement::Mutex mutex;
  HandedOver files ABSL_GUARDED_BY(mutex);
  CertificateTexts in_use ABSL_GUARDED_BY(mutex);       // as they were read
  CertificateTexts handed_over ABSL_GUARDED_BY(mutex);  // what of them gRPC has
  // The first take-over, by Open, makes them 0. Changed under the mutex.
  std::atomic<int64_t> renewals{-1};
  std::atomic<int64_t> ca_changes{-1};
  absl::Time not_after ABSL_GUARDED_BY(mutex);
  bool fresh ABSL_GUARDED_BY(mutex) = false;   // taken over, and not told yet
  std::string refused ABSL_GUARDED_BY(mutex);  // why the last look refused the files
  bool refused_told ABSL_GUARDED_BY(mutex) = false;
};

Tls::Tls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tls::~Tls() = default;

absl::StatusOr<std::unique_ptr<Tls>> Tls::Open(const TlsSettings& settings, CertificateUse use,
                                               Tell tell, Tell tell_of_peers) {
  BERTH_RETURN_IF_ERROR(CheckWhole(settings));
  if (tell_of_peers == nullptr) tell_of_peers = tell;
  auto impl =
      std::make_unique<Impl>(settings, std::move(use), std::move(tell), std::move(tell_of_peers));
  {
    placement::MutexLock lock(&impl->mutex);
    BERTH_RETURN_IF_ERROR(impl->TakeOver());
    impl->fresh = false;
    if (impl->use.server) {
      const std::string pair = impl->files.pair.path();
      impl->provider = std::make_shared<FileWatcherCertificateProvider>(
          pair, pair, impl->files.ca.path(), kRefreshSeconds);
    }
  }
  return std::unique_ptr<Tls>(new Tls(std::move(impl)));
}

void Tls::Look() {
  bool wrong = false;
  std::string text;
  {
    placement::MutexLock lock(&impl_->mutex);
    const absl::Status status = impl_->TakeOver();
    const std::string refused(status.message());
    if (!status.ok() && refused == impl_->refused && !impl_->refused_told) {
      impl_->refused_told = wrong = true;
      text = absl::StrCat("new certificates are not used, the old ones stay in use: ", refused);
    } else if (refused != impl_->refused) {
      impl_->refused = refused;
      impl_->refused_told = false;
    }
    if (impl_->fresh) {
      text =
          absl::StrCat("new certificates are in use; the own one ends at ",
                       absl::FormatTime(absl::RFC3339_sec, impl_->not_after, absl::UTCTimeZone()));
      impl_->fresh = false;
    }
  }
  if (!text.empty()) impl_->tell(wrong, text);
}

absl::Time Tls::not_after() const {
  placement::MutexLock lock(&impl_->mutex);
  return impl_->not_after;
}

int64_t Tls::renewals() const { return impl_->renewals.load(); }
int64_t Tls::ca_changes() const { return impl_->ca_changes.load(); }

absl::Status Tls::CheckTrust(const std::string& chain) const {
  std::string cas;
  {
    placement::MutexLock lock(&impl_->mutex);
    cas = impl_->handed_over.ca;
  }
  return CheckClientChain(chain, cas);
}

std::shared_ptr<grpc::ServerCredentials> Tls::ForServer() {
  BERTH_CHECK(impl_->provider != nullptr);  // the caller opened certificates of a server
  grpc::experimental::TlsServerCredentialsOptions options(impl_->provider);
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  impl_->Set(&options, {});
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> Tls::ForChannel(std::vector<std::string> roles) {
  CertificateTexts texts;
  {
    placement::MutexLock lock(&impl_->mutex);
    texts = impl_->handed_over;
  }
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<StaticDataCertificateProvider>(
      texts.ca, std::vector<IdentityKeyCertPair>{{texts.key, texts.certificate}}));
  impl_->Set(&options, std::move(roles));
  return grpc::experimental::TlsCredentials(options);
}

void PassOnGrpcLog(Tls::Tell tell) {
  TellRefusedHandshakes([tell](const std::string& text) { tell(true, text); });
  GrpcLogListener().Put(std::move(tell));
  gpr_set_log_function(OnGrpcLog);
}

}  // namespace berth::services
