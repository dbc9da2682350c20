// CertificateAuthority: a CA for tests, which issues good and bad certificates. Each new CA has a key
// of its own.
#ifndef BERTH_TESTS_PROCESSES_CERTIFICATE_AUTHORITY_H_
#define BERTH_TESTS_PROCESSES_CERTIFICATE_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

struct evp_pkey_st;
struct x509_st;

namespace berth::testing {

// What a certificate says. The default is good for a server and for a client.
struct CertificateWords {
  std::vector<std::string> uris;
  std::vector<std::string> dns;
  std::string common_name;
  absl::Time not_before = absl::Now() - absl::Hours(1);
  absl::Time not_after = absl::Now() + absl::Hours(1);
  std::string extended_key_usage = "serverAuth,clientAuth";
  std::string basic_constraints;  // empty: none
  std::string key_usage;          // empty: none
  std::string key;                // the certificate's private key, PEM; empty: a new one
};

// All in the form PEM.
struct IssuedCertificate {
  std::string certificate;
  std::string key;
};

class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& name);
  // An existing CA, from its certificate and its private key, both PEM. Ends the program if it cannot
  // read them.
  CertificateAuthority(const std::string& certificate, const std::string& key);
  ~CertificateAuthority();
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  const std::string& pem() const { return pem_; }
  IssuedCertificate Issue(const CertificateWords& words) const;
  // A good certificate with one URI.
  IssuedCertificate Issue(const std::string& uri) const;

 private:
  evp_pkey_st* const key_;
  x509_st* const certificate_;
  std::string pem_;
};

// The files of one process, as its settings name them.
struct CertificatePaths {
  std::string certificate;
  std::string key;
  std::string ca;
};

// Writes the three files into `directory`, named after `name`.
CertificatePaths WriteCertificates(const std::string& directory, const std::string& name,
                                   const IssuedCertificate& issued, const std::string& ca);
void WriteText(const std::string& path, const std::string& text);
// The arguments that give a program these files.
std::vector<std::string> TlsArguments(const CertificatePaths& paths,
                                      const std::string& trust_domain);

}  // namespace berth::testing

#endif  // BERTH_TESTS_PROCESSES_CERTIFICATE_AUTHORITY_H_
