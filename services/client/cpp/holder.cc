#include "services/client/cpp/holder.h"

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "openssl/bio.h"
#include "openssl/bn.h"
#include "openssl/err.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace berth::client {
namespace {

constexpr size_t kTextShownMax = 100;
constexpr size_t kUrisShownMax = 2;

std::string LineOf(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &bytes);
  return Shown(absl::string_view(bytes, static_cast<size_t>(std::max<int64_t>(size, 0))));
}

std::string SerialOf(const X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), BN_free);
  if (number == nullptr) return "";
  char* const digits = BN_bn2hex(number.get());
  std::string serial = digits == nullptr ? "" : Shown(digits);
  OPENSSL_free(digits);
  return serial;
}

}  // namespace

std::string Shown(absl::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kTextShownMax)) shown += absl::ascii_isprint(c) ? c : '?';
  return text.size() > kTextShownMax ? shown + "..." : shown;
}

std::vector<std::string> NamesOf(const X509* certificate, int type) {
  std::vector<std::string> texts;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != type) continue;
    const ASN1_IA5STRING* text = name->d.ia5;
    texts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<size_t>(ASN1_STRING_length(text)));
  }
  GENERAL_NAMES_free(names);
  return texts;
}

std::string HolderOf(const X509* certificate) {
  std::string holder;
  const std::vector<std::string> uris = NamesOf(certificate, GEN_URI);
  for (size_t i = 0; i < uris.size() && i < kUrisShownMax; ++i) {
    absl::StrAppend(&holder, "URI ", Shown(uris[i]), ", ");
  }
  if (uris.empty()) {
    absl::StrAppend(&holder, "subject ", LineOf(X509_get_subject_name(certificate)), ", ");
  }
  absl::StrAppend(&holder, "serial number ", SerialOf(certificate), ", issuer ",
                  LineOf(X509_get_issuer_name(certificate)));
  ERR_clear_error();
  return holder;
}

std::string HolderIn(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  return certificate == nullptr ? "" : HolderOf(certificate.get());
}

}  // namespace berth::client
