// Certificates in the files of one test, and what is told of them.
#ifndef BERTH_TESTS_SERVICES_CLIENT_CERTIFICATE_FILES_H_
#define BERTH_TESTS_SERVICES_CLIENT_CERTIFICATE_FILES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/client/cpp/own_certificate.h"
#include "tests/processes/certificate_authority.h"

namespace berth::testing {

inline constexpr char kDomain[] = "d.example";
inline constexpr char kServerUri[] = "spiffe://d.example/placement/one";
inline constexpr char kClientUri[] = "spiffe://d.example/operator/alice";

// What was told, from any thread.
class Told {
 public:
  client::OwnCertificate::Tell Teller() {
    return [this](bool wrong, const std::string& text) {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines_.push_back((wrong ? "wrong: " : "") + text);
    };
  }
  std::string text() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return absl::StrJoin(lines_, "\n");
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class CertificateFilesTest : public ::testing::Test {
 protected:
  CertificateFilesTest() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        absl::StrCat(::testing::TempDir(), "berth-", test->test_suite_name(), "-", test->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  // Writes the files of `name`.
  client::TlsSettings Settings(const std::string& name, const IssuedCertificate& issued,
                               const std::string& ca) {
    const CertificatePaths paths = WriteCertificates(directory_, name, issued, ca);
    return {{paths.certificate, paths.key, paths.ca}, kDomain};
  }

  const CertificateAuthority ca_{"one"};
  const CertificateAuthority other_{"two"};
  std::string directory_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_SERVICES_CLIENT_CERTIFICATE_FILES_H_
