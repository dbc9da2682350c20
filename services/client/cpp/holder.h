// Whose certificate it is, in words for a log and for an error.
//
// Pure functions. No text has a byte of a key.
#ifndef BERTH_SERVICES_CLIENT_CPP_HOLDER_H_
#define BERTH_SERVICES_CLIENT_CPP_HOLDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

struct x509_st;

namespace berth::client {

// `text`, which a peer chose, so that it fits into a line: printable and not too long.
std::string Shown(absl::string_view text);

// The subject alternative names of one type in `certificate`: GEN_URI or GEN_DNS.
std::vector<std::string> NamesOf(const x509_st* certificate, int type);

// "URI spiffe://d.example/reader/ann, serial number 1F, issuer CN=berth". The first two URIs are
// told, and the subject if there is none.
std::string HolderOf(const x509_st* certificate);
// The same of the first certificate in `pem`; empty if there is none.
std::string HolderIn(const std::string& pem);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_HOLDER_H_
