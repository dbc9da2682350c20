#include "services/client/cpp/certificates.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509_vfy.h"
#include "openssl/x509v3.h"
#include "services/client/cpp/holder.h"
#include "services/client/cpp/pem.h"

namespace berth::client {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// A certificate, and where in its file it begins.
struct PlacedCertificate {
  Certificate certificate;
  int line = 0;
};

absl::StatusOr<std::vector<PlacedCertificate>> ReadCertificates(absl::string_view what,
                                                                const std::string& path,
                                                                const std::string& text,
                                                                Between between) {
  const absl::StatusOr<std::vector<PemBlock>> blocks = BlocksOf(what, path, text, between);
  if (!blocks.ok()) return blocks.status();
  std::vector<PlacedCertificate> certificates;
  for (const PemBlock& block : *blocks) {
    if (block.label != "CERTIFICATE") {
      if (between == Between::kAnyText) continue;
      return BadFile(what, absl::StrCat(path, ":", block.line),
                     "the block that begins here is no certificate; remove it");
    }
    const Bio bio(BIO_new_mem_buf(block.text.data(), static_cast<int>(block.text.size())),
                  BIO_free);
    Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
    if (certificate == nullptr) {
      ERR_clear_error();
      return BadFile(what, absl::StrCat(path, ":", block.line),
                     "the certificate that begins here cannot be read");
    }
    certificates.push_back({std::move(certificate), block.line});
  }
  if (certificates.empty()) {
    return BadFile(what, path, "has no certificate in the form PEM (-----BEGIN CERTIFICATE-----)");
  }
  return certificates;
}

// Fails if one of `cas` may not issue certificates. It would be trusted as it is, whoever issued it,
// and no other certificate with it.
absl::Status CheckCas(const std::string& path, const std::vector<PlacedCertificate>& cas) {
  for (const PlacedCertificate& ca : cas) {
    X509* const certificate = ca.certificate.get();
    const bool is_ca = X509_check_ca(certificate) == 1;
    const bool signs = (X509_get_key_usage(certificate) & KU_KEY_CERT_SIGN) != 0;
    ERR_clear_error();
    if (is_ca && signs) continue;
    return BadFile(
        "the CA file", absl::StrCat(path, ":", ca.line),
        absl::StrCat("the certificate that begins here is not that of a CA: it lacks ",
                     signs ? "CA:TRUE in its basic constraints" : "keyCertSign in its key usage",
                     "; give the certificates of CAs alone"));
  }
  return absl::OkStatus();
}

int NoPassword(char*, int, int, void*) { return -1; }

struct ReadKey {
  Key key;
  std::string text;
};

absl::StatusOr<ReadKey> ReadPrivateKey(const std::string& path, const std::string& text) {
  const absl::StatusOr<std::vector<PemBlock>> blocks =
      BlocksOf("the key", path, text, Between::kAnyText);
  if (!blocks.ok()) return blocks.status();
  for (const PemBlock& block : *blocks) {
    if (!absl::EndsWith(block.label, "PRIVATE KEY")) continue;
    if (absl::StrContains(block.label, "ENCRYPTED") || absl::StrContains(block.text, "ENCRYPTED")) {
      return BadFile("the key", absl::StrCat(path, ":", block.line),
                     "is encrypted, and Berth asks for no password; `openssl pkey` removes it");
    }
    const Bio bio(BIO_new_mem_buf(block.text.data(), static_cast<int>(block.text.size())),
                  BIO_free);
    Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free);
    if (key != nullptr) return ReadKey{std::move(key), block.text};
    ERR_clear_error();
    return BadFile("the key", absl::StrCat(path, ":", block.line), "cannot be read");
  }
  return BadFile("the key", path, "has no private key in the form PEM");
}

absl::Time TimeOfAsn1(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string TextOf(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

absl::Status CheckTimes(const std::string& path, const X509* certificate, absl::Time now) {
  const absl::Time begin = TimeOfAsn1(X509_get0_notBefore(certificate));
  const absl::Time end = TimeOfAsn1(X509_get0_notAfter(certificate));
  if (now < begin) {
    return BadFile("the certificate", path,
                   absl::StrCat("is valid only from ", TextOf(begin), ", and now it is ",
                                TextOf(now), "; is the clock right?"));
  }
  if (now <= end) return absl::OkStatus();
  return BadFile("the certificate", path,
                 absl::StrCat("has expired at ", TextOf(end), ", and now it is ", TextOf(now),
                              "; issue a new one"));
}

// What to tell somebody whose certificate has an id where it does not count; else empty.
absl::string_view MisplacedId(const X509* certificate) {
  for (const std::string& name : NamesOf(certificate, GEN_DNS)) {
    if (absl::StartsWith(name, "spiffe:"))
      return "; an id that stands as a DNS name does not count";
  }
  return "";
}

std::string Wanted(const CertificateUse& use) {
  return UriOf({use.trust_domain, use.role.empty() ? "ROLE" : use.role,
                use.name.empty() ? "NAME" : use.name});
}

absl::StatusOr<SpiffeId> CheckId(const std::string& path, const X509* certificate,
                                 const CertificateUse& use) {
  const std::vector<std::string> uris = NamesOf(certificate, GEN_URI);
  if (uris.size() != 1) {
    return BadFile("the certificate", path,
                   absl::StrCat("has ", uris.size(),
                                " URIs as subject alternative names, but must "
                                "have exactly one: ",
                                Wanted(use), MisplacedId(certificate)));
  }
  const absl::StatusOr<SpiffeId> id = ParseSpiffeId(uris[0]);
  if (!id.ok()) {
    return BadFile("the certificate", path,
                   absl::StrCat("its URI ", id.status().message(), "; it must be ", Wanted(use)));
  }
  if (id->domain == use.trust_domain && (use.role.empty() || id->role == use.role) &&
      (use.name.empty() || id->name == use.name)) {
    return id;
  }
  return BadFile("the certificate", path,
                 absl::StrCat("is that of ", UriOf(*id), ", but must be that of ", Wanted(use),
                              "; issue one for this program, or correct its settings"));
}

struct FreeStore {
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
  // Frees the stack, not what is in it.
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
};

// What keeps `chain` from leading to one of `cas` for `purpose`, in the way gRPC checks it; empty:
// nothing. Without `now` no certificate is too old or too young.
std::string ChainFault(const std::vector<PlacedCertificate>& chain,
                       const std::vector<PlacedCertificate>& cas, int purpose,
                       std::optional<absl::Time> now) {
  const std::unique_ptr<X509_STORE, FreeStore> store(X509_STORE_new());
  const std::unique_ptr<STACK_OF(X509), FreeStore> between(sk_X509_new_null());
  const std::unique_ptr<X509_STORE_CTX, FreeStore> context(X509_STORE_CTX_new());
  for (const PlacedCertificate& ca : cas) X509_STORE_add_cert(store.get(), ca.certificate.get());
  for (size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(between.get(), chain[i].certificate.get());
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  X509_STORE_CTX_init(context.get(), store.get(), chain[0].certificate.get(), between.get());
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  if (now) {
    X509_STORE_CTX_set_time(context.get(), 0, absl::ToTimeT(*now));
  } else {
    X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_NO_CHECK_TIME);
  }
  const bool good = X509_verify_cert(context.get()) == 1;
  const int error = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  if (good) return "";
  const int depth = X509_STORE_CTX_get_error_depth(context.get());
  return absl::StrCat(X509_verify_cert_error_string(error), " (certificate ", depth + 1,
                      " of the chain)");
}

// Checks for one purpose that `chain` leads to one of `cas`.
absl::Status CheckChain(const CertificateTexts& files, const std::vector<PlacedCertificate>& chain,
                        const std::vector<PlacedCertificate>& cas, int purpose, absl::Time now) {
  const std::string fault = ChainFault(chain, cas, purpose, now);
  if (fault.empty()) return absl::OkStatus();
  return BadFile("the certificate", files.certificate,
                 absl::StrCat("does not pass as the certificate of a ",
                              purpose == X509_PURPOSE_SSL_SERVER ? "server" : "client",
                              " with the CAs in ", files.ca, ": ", fault,
                              "; give the CA that issued it, and the certificates in between"));
}

// The certificates as PEM, without what else their file has.
std::string PemOf(const std::vector<PlacedCertificate>& certificates) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  for (const PlacedCertificate& one : certificates) {
    PEM_write_bio_X509(bio.get(), one.certificate.get());
  }
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

}  // namespace

absl::StatusOr<CertificateTexts> ReadCertificateFiles(const CertificateTexts& files) {
  absl::StatusOr<std::string> certificate = ReadPemFile("the certificate", files.certificate);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = ReadPemFile("the key", files.key);
  if (!key.ok()) return key.status();
  absl::StatusOr<std::string> ca = ReadPemFile("the CA file", files.ca);
  if (!ca.ok()) return ca.status();
  return CertificateTexts{*std::move(certificate), *std::move(key), *std::move(ca)};
}

absl::StatusOr<CheckedCertificates> CheckCertificates(const CertificateTexts& files,
                                                      const CertificateTexts& texts,
                                                      const CertificateUse& use, absl::Time now) {
  const auto chain =
      ReadCertificates("the certificate", files.certificate, texts.certificate, Between::kAnyText);
  if (!chain.ok()) return chain.status();
  const absl::StatusOr<ReadKey> key = ReadPrivateKey(files.key, texts.key);
  if (!key.ok()) return key.status();
  const auto cas = ReadCertificates("the CA file", files.ca, texts.ca, Between::kComments);
  if (!cas.ok()) return cas.status();
  absl::Status status = CheckCas(files.ca, *cas);
  if (!status.ok()) return status;
  const X509* own = (*chain)[0].certificate.get();
  const bool fits = X509_check_private_key(own, key->key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return BadFile("the key", files.key,
                   absl::StrCat("does not belong to the certificate ", files.certificate,
                                "; give the key with which the certificate was requested, and put "
                                "the own certificate first in its file"));
  }
  status = CheckTimes(files.certificate, own, now);
  if (!status.ok()) return status;
  const absl::StatusOr<SpiffeId> id = CheckId(files.certificate, own, use);
  if (!id.ok()) return id.status();
  if (use.server) status = CheckChain(files, *chain, *cas, X509_PURPOSE_SSL_SERVER, now);
  if (status.ok() && use.client) {
    status = CheckChain(files, *chain, *cas, X509_PURPOSE_SSL_CLIENT, now);
  }
  if (!status.ok()) return status;
  return CheckedCertificates{
      {PemOf(*chain), key->text, PemOf(*cas)}, *id, TimeOfAsn1(X509_get0_notAfter(own))};
}

absl::Status CheckClientChain(const std::string& chain, const std::string& cas) {
  const auto sent = ReadCertificates("the certificate", "of the client", chain, Between::kAnyText);
  if (!sent.ok()) return sent.status();
  const auto trusted = ReadCertificates("the CA file", "in use", cas, Between::kAnyText);
  if (!trusted.ok()) return trusted.status();
  const std::string fault = ChainFault(*sent, *trusted, X509_PURPOSE_SSL_CLIENT, std::nullopt);
  return fault.empty() ? absl::OkStatus() : absl::InvalidArgumentError(fault);
}

absl::Time CertificateEnd(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  if (certificate == nullptr) {
    ERR_clear_error();
    return absl::InfinitePast();
  }
  return TimeOfAsn1(X509_get0_notAfter(certificate.get()));
}

}  // namespace berth::client
