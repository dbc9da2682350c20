// Credentials of a test's client, with any certificate and without the checks of a client of ours.
#ifndef BERTH_TESTS_PROCESSES_CLIENT_CREDENTIALS_H_
#define BERTH_TESTS_PROCESSES_CLIENT_CREDENTIALS_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <memory>
#include <string>

#include "tests/processes/certificate_authority.h"

namespace berth::testing {

// The client accepts every server whose certificate leads to a CA that `provider` has.
std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(
    const std::shared_ptr<grpc::experimental::CertificateProviderInterface>& provider);
// The same with one certificate, and with the CAs in `ca`.
std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const IssuedCertificate& own,
                                                            const std::string& ca);

// The same without a certificate of its own.
std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const std::string& ca);

// A channel that shares its connection with no other channel.
std::shared_ptr<grpc::Channel> OwnChannel(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace berth::testing

#endif  // BERTH_TESTS_PROCESSES_CLIENT_CREDENTIALS_H_
