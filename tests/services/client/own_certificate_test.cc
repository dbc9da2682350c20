// OwnCertificate: which files are used, and what is told of those that are not.
#include "services/client/cpp/own_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "tests/fault/await.h"
#include "tests/processes/as_nobody.h"
#include "tests/processes/certificate_authority.h"
#include "tests/services/client/certificate_files.h"

namespace berth::client {
namespace {

using ::berth::testing::CertificateWords;
using ::berth::testing::IssuedCertificate;
using ::berth::testing::kServerUri;
using ::testing::HasSubstr;

constexpr absl::Duration kRefusedWithin = absl::Seconds(30);  // bounds a failure alone

class OwnCertificateTest : public testing::CertificateFilesTest {
 protected:
  absl::StatusOr<OwnCertificate> Open(const TlsSettings& settings,
                                      OwnCertificate::Take take = nullptr) {
    CertificateUse use;
    use.server = true;
    return OwnCertificate::Open(settings, use, told_.Teller(), nullptr, std::move(take));
  }
  std::string Refused(const TlsSettings& settings) {
    const absl::Status status = Open(settings).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
  // Writes another good certificate in the place of that of `Settings("own", ...)`.
  void Renew(absl::Duration valid) {
    CertificateWords words;
    words.uris = {kServerUri};
    words.not_after = absl::Now() + valid;
    testing::WriteCertificates(directory_, "own", ca_.Issue(words), ca_.pem());
  }

  testing::Told told_;
};

TEST_F(OwnCertificateTest, HalfASetIsRefused) {
  const TlsSettings whole = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  EXPECT_TRUE(Open(whole).ok());
  TlsSettings half = whole;
  half.files.key = "";
  EXPECT_THAT(Refused(half), HasSubstr("tls-key is missing"));
  half = whole;
  half.trust_domain = "";
  EXPECT_THAT(Refused(half), HasSubstr("trust-domain is missing"));
  half.trust_domain = "Not A Domain";
  EXPECT_THAT(Refused(half), HasSubstr("is no trust domain"));
}

TEST_F(OwnCertificateTest, BadFilesAreToldOnceAndNeverUsed) {
  const TlsSettings settings = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  OwnCertificate own = Open(settings).value();
  const absl::Time end = own.not_after();
  testing::WriteText(settings.files.key, ca_.Issue(kServerUri).key);
  own.Look();
  EXPECT_EQ(told_.text(), "");  // somebody may still be writing
  own.Look();
  own.Look();
  EXPECT_THAT(told_.text(),
              HasSubstr("wrong: new certificates are not used, the old ones stay in use: the key"));
  EXPECT_EQ(told_.text().find('\n'), std::string::npos);
  EXPECT_EQ(own.not_after(), end);
  EXPECT_EQ(own.renewals(), 0);
  Renew(absl::Hours(2));
  own.Look();
  EXPECT_THAT(told_.text(), HasSubstr("\nnew certificates are in use"));
  EXPECT_GT(own.not_after(), end + absl::Minutes(50));
  EXPECT_EQ(own.renewals(), 1);
  EXPECT_EQ(own.ca_changes(), 0);
}

TEST_F(OwnCertificateTest, ARenewalIsSpreadOverAMinuteUnlessTheOldOneEndsSooner) {
  const TlsSettings settings = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  OwnCertificate own = Open(settings).value();
  EXPECT_EQ(own.renewal_spread(), absl::ZeroDuration());
  Renew(absl::Seconds(40));
  own.Look();
  EXPECT_EQ(own.renewal_spread(), absl::Minutes(1));
  Renew(absl::Hours(1));
  own.Look();
  EXPECT_GT(own.renewal_spread(), absl::ZeroDuration());
  EXPECT_LE(own.renewal_spread(), absl::Seconds(20));
  EXPECT_EQ(own.renewals(), 2);
}

TEST_F(OwnCertificateTest, WhatIsNotTakenIsNotUsed) {
  const TlsSettings settings = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  absl::Status answer = absl::InternalError("no memory");
  std::string certificate;
  const auto take = [&](const CertificateTexts& texts) {
    if (answer.ok()) certificate = texts.certificate;
    return answer;
  };
  EXPECT_EQ(Open(settings, take).status(), answer);
  answer = absl::OkStatus();
  OwnCertificate own = Open(settings, take).value();
  const std::string first = certificate;
  EXPECT_THAT(first, HasSubstr("BEGIN CERTIFICATE"));
  answer = absl::InternalError("no memory");
  Renew(absl::Hours(2));
  own.Look();
  own.Look();
  EXPECT_EQ(own.renewals(), 0);
  EXPECT_THAT(told_.text(), HasSubstr("the old ones stay in use: no memory"));
  answer = absl::OkStatus();
  own.Look();
  EXPECT_EQ(own.renewals(), 1);
  EXPECT_NE(certificate, first);
}

// What is said of a certificate that is not valid yet has the present time.
TEST_F(OwnCertificateTest, FilesAreRefusedForTheSameReasonWheneverItIsSaid) {
  const TlsSettings settings = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  OwnCertificate own = Open(settings).value();
  CertificateWords words;
  words.uris = {kServerUri};
  words.not_before = absl::Now() + absl::Hours(1);
  words.not_after = words.not_before + absl::Hours(1);
  testing::WriteCertificates(directory_, "own", ca_.Issue(words), ca_.pem());
  own.Look();
  const std::string first = Refused(settings);
  EXPECT_TRUE(fault::AwaitWithin(kRefusedWithin, [&] { return Refused(settings) != first; }));
  own.Look();
  EXPECT_THAT(told_.text(), HasSubstr("is valid only from"));
  const std::string told = told_.text();
  const std::string second = Refused(settings);
  EXPECT_TRUE(fault::AwaitWithin(kRefusedWithin, [&] { return Refused(settings) != second; }));
  own.Look();
  EXPECT_EQ(told_.text(), told);
}

// As one waits for a disk.
TEST_F(OwnCertificateTest, NobodyWaitsForALookOfSomebodyElse) {
  const TlsSettings settings = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  OwnCertificate* looking = nullptr;
  std::future<absl::Time> asked;
  const auto take = [&](const CertificateTexts&) {
    if (looking == nullptr) return absl::OkStatus();
    asked = std::async(std::launch::async, [&] {
      looking->ForChannel({});
      return looking->not_after() + looking->renewal_spread();
    });
    EXPECT_EQ(asked.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    return absl::OkStatus();
  };
  OwnCertificate own = Open(settings, take).value();
  looking = &own;
  Renew(absl::Hours(2));
  own.Look();
  EXPECT_TRUE(asked.valid());
  EXPECT_EQ(own.renewals(), 1);
}

// One mistake in the three files, and what is said of it.
struct Mistake {
  IssuedCertificate issued;
  std::string ca;
  const char* said;
};

// At the start each mistake is refused. While a certificate is in use, the mistake is told and
// changes nothing.
TEST_F(OwnCertificateTest, EachMistakeIsRefusedAtTheStartAndChangesNothingLater) {
  const IssuedCertificate good = ca_.Issue(kServerUri);
  const TlsSettings settings = Settings("own", good, ca_.pem());
  const auto issue = [&](const CertificateWords& words) { return ca_.Issue(words); };
  CertificateWords later;
  later.uris = {kServerUri};
  later.not_before = absl::Now() + absl::Minutes(10);
  CertificateWords dns;
  dns.dns = {kServerUri};
  CertificateWords two;
  two.uris = {kServerUri, "spiffe://d.example/placement/two"};
  const Mistake mistakes[] = {
      {ca_.Issue("spiffe://e.example/placement/one"), ca_.pem(), "is that of spiffe://e.example/"},
      {issue(two), ca_.pem(), "has 2 URIs"},
      {issue(dns), ca_.pem(), "an id that stands as a DNS name does not count"},
      {issue(later), ca_.pem(), "is valid only from"},
      {good, ca_.pem() + "garbage\n", "own-ca.crt:"},
      {good, ca_.pem() + other_.pem().substr(0, 200), "does not end"},
      {good, ca_.pem() + good.certificate, "is not that of a CA"},
  };
  for (const Mistake& mistake : mistakes) {
    testing::WriteCertificates(directory_, "own", good, ca_.pem());
    testing::Told told;
    CertificateUse use;
    use.server = true;
    OwnCertificate own = OwnCertificate::Open(settings, use, told.Teller()).value();
    const absl::Time end = own.not_after();
    testing::WriteCertificates(directory_, "own", mistake.issued, mistake.ca);
    const std::string refused = Refused(settings);
    EXPECT_THAT(refused, HasSubstr(mistake.said));
    own.Look();
    own.Look();
    EXPECT_THAT(told.text(), HasSubstr("new certificates are not used, the old ones stay in use"));
    EXPECT_THAT(told.text(), HasSubstr(refused.substr(0, 60)));
    EXPECT_EQ(own.not_after(), end);
  }
}

TEST_F(OwnCertificateTest, AKeyThatMayNotBeReadIsRefusedAtTheStartAndChangesNothingLater) {
  const TlsSettings settings = Settings("own", ca_.Issue(kServerUri), ca_.pem());
  OwnCertificate own = Open(settings).value();
  const absl::Time end = own.not_after();
  std::filesystem::permissions(settings.files.key, std::filesystem::perms::none);
  const testing::AsNobody as_nobody;
  EXPECT_THAT(Refused(settings),
              HasSubstr(settings.files.key + ": cannot be read: Permission denied"));
  own.Look();
  own.Look();
  EXPECT_THAT(told_.text(), HasSubstr("cannot be read: Permission denied"));
  EXPECT_EQ(own.not_after(), end);
}

}  // namespace
}  // namespace berth::client
