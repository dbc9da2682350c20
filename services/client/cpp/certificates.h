// Certificates: reads a certificate with its chain, a private key and CA certificates, and checks
// that they work together before anything uses them.
//
// Functions without state. ReadCertificateFiles reads files; all others are pure. Errors name the
// file, the line if one is at fault, and what to do. No error has a byte of a key.
#ifndef BERTH_SERVICES_CLIENT_CPP_CERTIFICATES_H_
#define BERTH_SERVICES_CLIENT_CPP_CERTIFICATES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/client/cpp/spiffe_id.h"

namespace berth::client {

// The same three things, as names of files or as the texts in them, all in the form PEM.
struct CertificateTexts {
  std::string certificate;  // the own certificate, then those that lead to the CA
  std::string key;          // the private key of the own certificate
  std::string ca;           // the certificates that one trusts; there may be several CAs

  friend bool operator==(const CertificateTexts& one, const CertificateTexts& other) {
    return one.certificate == other.certificate && one.key == other.key && one.ca == other.ca;
  }
};

// What the own certificate must be good for.
struct CertificateUse {
  std::string trust_domain;
  std::string role;  // the role that the certificate must have; empty: any
  std::string name;  // the name that the certificate must have; empty: any
  bool server = false;
  bool client = false;
};

// Texts that have passed CheckCertificates.
struct CheckedCertificates {
  CertificateTexts texts;  // only the certificates and the key, without what else the files have
  SpiffeId id;
  absl::Time not_after;  // the end of the own certificate
};

// Reads the three files. kInvalidArgument if one is no regular file, is empty, is larger than 1 MiB
// or cannot be read.
absl::StatusOr<CertificateTexts> ReadCertificateFiles(const CertificateTexts& files);

// Checks `texts`, which come from `files`, as of `now`. kInvalidArgument if
//   - a text has no certificate or key, one that cannot be read, or a part of a block. The text of
//     the CAs may have nothing else than comments ('#') after its first certificate
//   - a certificate of the CAs is not that of a CA (CA:TRUE, keyCertSign)
//   - the key is not that of the own certificate, or is encrypted
//   - the own certificate has ended or not begun yet, or does not lead to one of the CAs
//   - the own certificate does not have exactly one URI, spiffe://DOMAIN/ROLE/NAME as `use` wants
absl::StatusOr<CheckedCertificates> CheckCertificates(const CertificateTexts& files,
                                                      const CertificateTexts& texts,
                                                      const CertificateUse& use, absl::Time now);

// OK if the first certificate in `chain` leads to one in `cas`, over the others in `chain`, as that
// of a client; from when to when they are valid does not count. Both are PEM. kInvalidArgument
// otherwise, with the reason.
absl::Status CheckClientChain(const std::string& chain, const std::string& cas);

// Returns when the first certificate in `pem` ends; InfinitePast if there is none.
absl::Time CertificateEnd(const std::string& pem);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_CERTIFICATES_H_
