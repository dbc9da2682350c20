// The credentials with which the load calls placement.
//
// The environment says which, as it does for the programs: BERTH_TLS_CERTIFICATE, BERTH_TLS_KEY,
// BERTH_TLS_CA and BERTH_TRUST_DOMAIN. Without them all is plain text. Whatever is wrong with the
// files is told, and ends the program. Thread-safe.
#ifndef BERTH_TESTS_BENCH_CREDENTIALS_H_
#define BERTH_TESTS_BENCH_CREDENTIALS_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/security/credentials.h"

namespace berth::bench {

// The credentials of the environment, read at the first call.
std::shared_ptr<grpc::ChannelCredentials> LoadCredentials();

// Credentials for each of `hosts`, as tracker/HOST in the domain of the environment. The CA of the
// environment issues the certificates here and now, with its private key in the file `ca_key`.
// Plain text without TLS in the environment.
std::vector<std::shared_ptr<grpc::ChannelCredentials>> TrackerCredentials(
    const std::vector<std::string>& hosts, const std::string& ca_key);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_CREDENTIALS_H_
