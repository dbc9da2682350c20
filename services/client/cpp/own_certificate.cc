#include "services/client/cpp/own_certificate.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "services/client/cpp/mutex.h"
#include "services/client/cpp/peer_verifier.h"
#include "services/client/cpp/spiffe_id.h"

namespace berth::client {
namespace {

constexpr absl::Duration kSpreadMax = absl::Minutes(1);

absl::Status CheckWhole(const TlsSettings& settings) {
  const std::pair<const char*, const std::string*> parts[] = {
      {"tls-certificate", &settings.files.certificate},
      {"tls-key", &settings.files.key},
      {"tls-ca", &settings.files.ca},
      {"trust-domain", &settings.trust_domain}};
  for (const auto& [name, value] : parts) {
    if (!value->empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " is missing: give all of tls-certificate, tls-key, tls-ca and trust-domain, or none of "
        "them"));
  }
  const absl::Status domain = CheckTrustDomain(settings.trust_domain);
  if (domain.ok()) return domain;
  return absl::InvalidArgumentError(absl::StrCat("trust-domain: ", domain.message()));
}

void TellNobody(bool /*wrong*/, const std::string& /*text*/) {}

}  // namespace

class OwnCertificate::Impl {
 public:
  Impl(const TlsSettings& given, CertificateUse wanted, Tell told, const Tell& told_of_peers,
       Take taken)
      : settings(given),
        use(std::move(wanted)),
        tell(told == nullptr ? TellNobody : std::move(told)),
        tell_of_peers(told_of_peers == nullptr ? tell : told_of_peers),
        take(std::move(taken)) {}

  // What a look finds.
  struct Found {
    CertificateTexts texts;  // of the files; empty if they cannot be read
    absl::Status status;
    bool fresh = false;  // new files are in use
  };

  Found TakeOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(looking) {
    Found found;
    absl::StatusOr<CertificateTexts> read = ReadCertificateFiles(settings.files);
    found.status = read.status();
    if (!read.ok()) return found;
    found.texts = *std::move(read);
    if (found.texts == as_read) return found;
    const absl::Time now = absl::Now();
    absl::StatusOr<CheckedCertificates> checked =
        CheckCertificates(settings.files, found.texts, use, now);
    found.status = checked.status();
    if (found.status.ok() && take != nullptr) found.status = take(checked->texts);
    if (!found.status.ok()) return found;
    as_read = found.texts;
    found.fresh = true;
    MutexLock lock(&mutex);
    if (checked->texts.ca != in_use.ca) ++ca_changes;
    ++renewals;
    spread = std::clamp((not_after - now) / 2, absl::ZeroDuration(), kSpreadMax);
    in_use = std::move(checked->texts);
    not_after = checked->not_after;
    return found;
  }

  // Whether an operator must be told now that the files were refused. Texts are compared, and not
  // what is said of them, because that may have the present time.
  bool IsToBeTold(const Found& found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(looking) {
    const bool readable = !(found.texts == CertificateTexts());
    const bool again =
        !found.status.ok() && (readable ? found.texts == last.texts : found.status == last.status);
    const bool tell_now = again && !told;
    told = again;
    last = found;
    return tell_now;
  }

  const TlsSettings settings;
  const CertificateUse use;
  const Tell tell;
  const Tell tell_of_peers;
  const Take take;
  Mutex looking;  // held while the disk is read, which may hang; locked before `mutex`
  CertificateTexts as_read ABSL_GUARDED_BY(looking);  // the files in use
  Found last ABSL_GUARDED_BY(looking);
  bool told ABSL_GUARDED_BY(looking) = false;  // that the files of `last` were refused
  mutable Mutex mutex;
  CertificateTexts in_use ABSL_GUARDED_BY(mutex);  // what of the files gRPC gets
  // The first take-over, by Open, makes them 0. Changed under the mutex.
  std::atomic<int64_t> renewals{-1};
  std::atomic<int64_t> ca_changes{-1};
  absl::Time not_after ABSL_GUARDED_BY(mutex);
  absl::Duration spread ABSL_GUARDED_BY(mutex);
};

OwnCertificate::OwnCertificate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OwnCertificate::~OwnCertificate() = default;
OwnCertificate::OwnCertificate(OwnCertificate&& other) noexcept = default;
OwnCertificate& OwnCertificate::operator=(OwnCertificate&& other) noexcept = default;

absl::StatusOr<OwnCertificate> OwnCertificate::Open(const TlsSettings& settings, CertificateUse use,
                                                    Tell tell, const Tell& tell_of_peers,
                                                    Take take) {
  absl::Status status = CheckWhole(settings);
  if (!status.ok()) return status;
  use.trust_domain = settings.trust_domain;
  auto impl = std::make_unique<Impl>(settings, std::move(use), std::move(tell), tell_of_peers,
                                     std::move(take));
  {
    MutexLock lock(&impl->looking);
    status = impl->TakeOver().status;
  }
  if (!status.ok()) return status;
  return OwnCertificate(std::move(impl));
}

void OwnCertificate::Look() {
  bool wrong = false;
  std::string text;
  {
    MutexLock lock(&impl_->looking);
    const Impl::Found found = impl_->TakeOver();
    wrong = impl_->IsToBeTold(found);
    if (wrong) {
      text = absl::StrCat("new certificates are not used, the old ones stay in use: ",
                          found.status.message());
    }
    if (found.fresh) {
      text = absl::StrCat("new certificates are in use; the own one ends at ",
                          absl::FormatTime(absl::RFC3339_sec, not_after(), absl::UTCTimeZone()));
    }
  }
  if (!text.empty()) impl_->tell(wrong, text);
}

absl::Time OwnCertificate::not_after() const {
  MutexLock lock(&impl_->mutex);
  return impl_->not_after;
}

int64_t OwnCertificate::renewals() const { return impl_->renewals.load(); }
int64_t OwnCertificate::ca_changes() const { return impl_->ca_changes.load(); }

absl::Duration OwnCertificate::renewal_spread() const {
  MutexLock lock(&impl_->mutex);
  return impl_->spread;
}

std::shared_ptr<grpc::ChannelCredentials> OwnCertificate::ForChannel(
    std::vector<std::string> roles) const {
  using grpc::experimental::IdentityKeyCertPair;
  CertificateTexts texts;
  {
    MutexLock lock(&impl_->mutex);
    texts = impl_->in_use;
  }
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
          texts.ca, std::vector<IdentityKeyCertPair>{{texts.key, texts.certificate}}));
  SetPeers(&options, std::move(roles));
  return grpc::experimental::TlsCredentials(options);
}

std::string OwnCertificate::cas() const {
  MutexLock lock(&impl_->mutex);
  return impl_->in_use.ca;
}

void OwnCertificate::SetPeers(grpc::experimental::TlsCredentialsOptions* options,
                              std::vector<std::string> roles) const {
  options->watch_root_certs();
  options->watch_identity_key_cert_pairs();
  options->set_certificate_verifier(
      MakePeerVerifier(impl_->settings.trust_domain, std::move(roles), impl_->tell_of_peers));
  options->set_check_call_host(false);
}

}  // namespace berth::client
