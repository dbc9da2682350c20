#include "tests/processes/certificate_authority.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "openssl/bio.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace berth::testing {
namespace {

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) std::abort();
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* Draft(const std::string& common_name, absl::Time begin, absl::Time end, EVP_PKEY* key) {
  static std::atomic<long> serial{1};
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(begin));
  ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(end));
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

std::string Drain(BIO* bio) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string PemOf(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return Drain(bio);
}

std::string PemOf(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return Drain(bio);
}

BIO* Reading(const std::string& text) {
  return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
}

EVP_PKEY* KeyIn(const std::string& pem) {
  BIO* bio = Reading(pem);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  if (key == nullptr) std::abort();
  return key;
}

X509* CertificateIn(const std::string& pem) {
  BIO* bio = Reading(pem);
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  if (certificate == nullptr) std::abort();
  return certificate;
}

}  // namespace

CertificateAuthority::CertificateAuthority(const std::string& name)
    : key_(EVP_EC_gen("prime256v1")),
      certificate_(
          Draft(name, absl::Now() - absl::Hours(100), absl::Now() + absl::Hours(100), key_)) {
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  AddExtension(certificate_, certificate_, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate_, certificate_, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(certificate_, key_, EVP_sha256());
  pem_ = PemOf(certificate_);
}

CertificateAuthority::CertificateAuthority(const std::string& certificate, const std::string& key)
    : key_(KeyIn(key)), certificate_(CertificateIn(certificate)), pem_(PemOf(certificate_)) {}

CertificateAuthority::~CertificateAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

IssuedCertificate CertificateAuthority::Issue(const CertificateWords& words) const {
  EVP_PKEY* key = words.key.empty() ? EVP_EC_gen("prime256v1") : KeyIn(words.key);
  X509* certificate = Draft(words.common_name, words.not_before, words.not_after, key);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  std::string names;
  for (const std::string& uri : words.uris) {
    absl::StrAppend(&names, names.empty() ? "" : ",", "URI:", uri);
  }
  for (const std::string& dns : words.dns) {
    absl::StrAppend(&names, names.empty() ? "" : ",", "DNS:", dns);
  }
  if (!names.empty()) AddExtension(certificate, certificate_, NID_subject_alt_name, names);
  const std::pair<int, const std::string*> extensions[] = {
      {NID_ext_key_usage, &words.extended_key_usage},
      {NID_basic_constraints, &words.basic_constraints},
      {NID_key_usage, &words.key_usage}};
  for (const auto& [nid, value] : extensions) {
    if (!value->empty()) AddExtension(certificate, certificate_, nid, *value);
  }
  X509_sign(certificate, key_, EVP_sha256());
  IssuedCertificate issued{PemOf(certificate), PemOf(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

IssuedCertificate CertificateAuthority::Issue(const std::string& uri) const {
  CertificateWords words;
  words.uris = {uri};
  return Issue(words);
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

CertificatePaths WriteCertificates(const std::string& directory, const std::string& name,
                                   const IssuedCertificate& issued, const std::string& ca) {
  const std::string stem = absl::StrCat(directory, "/", name);
  const CertificatePaths paths{stem + ".crt", stem + ".key", stem + "-ca.crt"};
  WriteText(paths.certificate, issued.certificate);
  WriteText(paths.key, issued.key);
  WriteText(paths.ca, ca);
  return paths;
}

std::vector<std::string> TlsArguments(const CertificatePaths& paths,
                                      const std::string& trust_domain) {
  return {"--tls-certificate=" + paths.certificate, "--tls-key=" + paths.key,
          "--tls-ca=" + paths.ca, "--trust-domain=" + trust_domain};
}

}  // namespace berth::testing
