#include "tests/processes/client_credentials.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <vector>

namespace berth::testing {

using grpc::experimental::CertificateProviderInterface;

namespace {

std::shared_ptr<grpc::ChannelCredentials> WithoutChecks(
    const std::shared_ptr<CertificateProviderInterface>& provider, bool has_own) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider);
  options.watch_root_certs();
  if (has_own) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  options.set_check_call_host(false);
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(
    const std::shared_ptr<CertificateProviderInterface>& provider) {
  return WithoutChecks(provider, true);
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const std::string& ca) {
  return WithoutChecks(std::make_shared<grpc::experimental::StaticDataCertificateProvider>(ca),
                       false);
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const IssuedCertificate& own,
                                                            const std::string& ca) {
  const std::vector<grpc::experimental::IdentityKeyCertPair> pairs{{own.key, own.certificate}};
  return ClientCredentials(
      std::make_shared<grpc::experimental::StaticDataCertificateProvider>(ca, pairs));
}

std::shared_ptr<grpc::Channel> OwnChannel(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace berth::testing
