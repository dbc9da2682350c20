// Identities of a test program and of the programs that it starts.
//
// With BERTH_TEST_CERTIFICATES=1 in the environment all of them have certificates of one CA, which
// the test program makes for itself. Without it nobody has a certificate. An identity is ROLE/NAME,
// for example "tracker/h1". Thread-safe.
#ifndef BERTH_TESTS_PROCESSES_IDENTITY_H_
#define BERTH_TESTS_PROCESSES_IDENTITY_H_

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>
#include <vector>

namespace berth::e2e {

// Who a test calls as, unless it says otherwise.
inline constexpr char kTestCaller[] = "admin/test";

// Whether the environment asks for certificates.
bool HaveCertificates();

// The arguments that give a program, `berth` too, the certificate of `identity`. None without
// certificates.
std::vector<std::string> CertificateArguments(const std::string& identity = kTestCaller);

// The credentials with which a test calls as `identity`, the same at each call. They accept any
// server with a certificate of the CA. Without certificates nobody is identified.
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& identity = kTestCaller);

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_IDENTITY_H_
