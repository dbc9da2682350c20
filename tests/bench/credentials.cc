#include "tests/bench/credentials.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/client/cpp/certificates.h"
#include "services/client/cpp/own_certificate.h"
#include "services/client/cpp/spiffe_id.h"
#include "services/tls/grpc_log.h"
#include "tests/processes/certificate_authority.h"

namespace berth::bench {
namespace {

using Credentials = std::shared_ptr<grpc::ChannelCredentials>;

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

client::TlsSettings SettingsOfEnvironment() {
  client::TlsSettings settings;
  settings.files.certificate = Environment("BERTH_TLS_CERTIFICATE");
  settings.files.key = Environment("BERTH_TLS_KEY");
  settings.files.ca = Environment("BERTH_TLS_CA");
  settings.trust_domain = Environment("BERTH_TRUST_DOMAIN");
  return settings;
}

void Tell(bool wrong, const std::string& text) {
  if (wrong) std::fprintf(stderr, "%s\n", text.c_str());
}

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

Credentials CredentialsFrom(const client::TlsSettings& settings) {
  client::CertificateUse use;
  use.client = true;
  const auto own = client::OwnCertificate::Open(settings, use, Tell);
  if (!own.ok()) Die(own.status());
  return own->ForChannel({client::kPlacementRole});
}

Credentials CredentialsOfEnvironment() {
  const client::TlsSettings settings = SettingsOfEnvironment();
  if (!settings.given()) return grpc::InsecureChannelCredentials();
  services::PassOnGrpcLog(Tell);  // else gRPC writes a line for each connection
  return CredentialsFrom(settings);
}

}  // namespace

Credentials LoadCredentials() {
  // Lives until the process has ended, because channels may.
  static const auto* const credentials = new Credentials(CredentialsOfEnvironment());
  return *credentials;
}

std::vector<Credentials> TrackerCredentials(const std::vector<std::string>& hosts,
                                            const std::string& ca_key) {
  const Credentials own = LoadCredentials();
  client::TlsSettings settings = SettingsOfEnvironment();
  if (!settings.given()) return std::vector<Credentials>(hosts.size(), own);
  client::CertificateTexts files = settings.files;
  files.key = ca_key;
  const auto texts = client::ReadCertificateFiles(files);
  if (!texts.ok()) Die(texts.status());
  const testing::CertificateAuthority ca(texts->ca, texts->key);
  std::string directory =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/berth-XXXXXX");
  if (mkdtemp(directory.data()) == nullptr)
    Die(absl::InternalError("no directory for certificates"));
  std::vector<Credentials> credentials;
  for (const std::string& host : hosts) {
    const auto issued = ca.Issue(
        absl::StrCat("spiffe://", settings.trust_domain, "/", client::kTrackerRole, "/", host));
    const auto paths = testing::WriteCertificates(directory, "tracker", issued, ca.pem());
    settings.files = {paths.certificate, paths.key, paths.ca};
    credentials.push_back(CredentialsFrom(settings));
  }
  std::filesystem::remove_all(directory);
  return credentials;
}

}  // namespace berth::bench
