#include "services/tls/certificates.h"

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
#include "placement/ground/status_macros.h"
#include "services/tls/holder.h"
#include "services/tls/pem.h"

namespace berth::services {
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
  BERTH_ASSIGN_OR_RETURN(const std::vector<PemBlock> blocks, BlocksOf(what, path, text, between));
  std::vector<PlacedCertificate> certificates;
  for (const PemBlock& block : blocks) {
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
  BERTH_ASSIGN_OR_RETURN(const std::vector<PemBlock> blocks,
                         BlocksOf("the key", path, text, Between::kAnyText));
  for (const PemBlock& block : blocks) {
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
  CertificateTexts texts;
  BERTH_ASSIGN_OR_RETURN(texts.certificate, ReadPemFile("the certificate", files.certificate));
  BERTH_ASSIGN_OR_RETURN(texts.key, ReadPemFile("the key", files.key));
  BERTH_ASSIGN_OR_RETURN(texts.ca, ReadPemFile("the CA file", files.ca));
  return texts;
}

absl::StatusOr<CheckedCertificates> CheckCertificates(const CertificateTexts& files,
                                                      const CertificateTexts& texts,
                                                      const CertificateUse& use, absl::Time now) {
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<PlacedCertificate> chain,
      ReadCertificates("the certificate", files.certificate, texts.certificate, Between::kAnyText));
  BERTH_ASSIGN_OR_RETURN(const ReadKey key, ReadPrivateKey(files.key, texts.key));
  BERTH_ASSIGN_OR_RETURN(const std::vector<PlacedCertificate> cas,
                         ReadCertificates("the CA file", files.ca, texts.ca, Between::kComments));
  BERTH_RETURN_IF_ERROR(CheckCas(files.ca, cas));
  const X509* own = chain[0].certificate.get();
  const bool fits = X509_check_private_key(own, key.key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return BadFile("the key", files.key,
                   absl::StrCat("does not belong to the certificate ", files.certificate,
                                "; give the key with which the certificate was requested, and put "
                                "the own certificate first in its file"));
  }
  BERTH_RETURN_IF_ERROR(CheckTimes(files.certificate, own, now));
  CheckedCertificates checked;
  BERTH_ASSIGN_OR_RETURN(checked.id, CheckId(files.certificate, own, use));
  if (use.server) {
    BERTH_RETURN_IF_ERROR(CheckChain(files, chain, cas, X509_PURPOSE_SSL_SERVER, now));
  }
  if (use.client) {
    BERTH_RETURN_IF_ERROR(CheckChain(files, chain, cas, X509_PURPOSE_SSL_CLIENT, now));
  }
  checked.texts = {PemOf(chain), key.text, PemOf(cas)};
  checked.not_after = TimeOfAsn1(X509_get0_notAfter(own));
  return checked;
}

absl::Status CheckClientChain(const std::string& chain, const std::string& cas) {
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<PlacedCertificate> sent,
      ReadCertificates("the certificate", "of the client", chain, Between::kAnyText));
  BERTH_ASSIGN_OR_RETURN(const std::vector<PlacedCertificate> trusted,
                         ReadCertificates("the CA file", "in use", cas, Between::kAnyText));
  const std::string fault = ChainFault(sent, trusted, X509_PURPOSE_SSL_CLIENT, std::nullopt);
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

}  // namespace berth::services
