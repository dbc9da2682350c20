// Which certificates, keys and CAs work together, and what is said about each that does not.
#include "services/client/cpp/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/processes/as_nobody.h"
#include "tests/processes/certificate_authority.h"

namespace berth::client {
namespace {

using ::berth::testing::CertificateAuthority;
using ::berth::testing::CertificateWords;
using ::berth::testing::IssuedCertificate;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kUri[] = "spiffe://d.example/placement/one";

CertificateUse Use() {
  CertificateUse use;
  use.trust_domain = "d.example";
  use.server = use.client = true;
  return use;
}

class CertificatesTest : public ::testing::Test {
 protected:
  absl::StatusOr<CheckedCertificates> Check(const IssuedCertificate& issued, const std::string& ca,
                                            const CertificateUse& use = Use()) {
    return CheckCertificates({"own.crt", "own.key", "ca.crt"}, {issued.certificate, issued.key, ca},
                             use, absl::Now());
  }
  std::string Wrong(const IssuedCertificate& issued, const std::string& ca,
                    const CertificateUse& use = Use()) {
    const auto checked = Check(issued, ca, use);
    if (checked.ok()) return "nothing is wrong";
    EXPECT_EQ(checked.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(checked.status().message()), Not(HasSubstr("BEGIN EC")));
    return std::string(checked.status().message());
  }
  std::string WrongWords(const CertificateWords& words) {
    return Wrong(ca_.Issue(words), ca_.pem());
  }

  const CertificateAuthority ca_{"one"};
  const CertificateAuthority other_{"two"};
  const IssuedCertificate good_ = ca_.Issue(kUri);
};

TEST_F(CertificatesTest, ThatFitAreGood) {
  const auto checked = Check(good_, "any text\n" + other_.pem() + "\n# a comment\n" + ca_.pem());
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->id, (SpiffeId{"d.example", "placement", "one"}));
  EXPECT_EQ(checked->not_after, CertificateEnd(good_.certificate));
  EXPECT_GT(checked->not_after, absl::Now() + absl::Minutes(59));
  EXPECT_THAT(checked->texts.ca, Not(HasSubstr("comment")));
  EXPECT_EQ(checked->texts.certificate, good_.certificate);
}

TEST_F(CertificatesTest, OfAnotherKeyAreRefused) {
  const IssuedCertificate second = ca_.Issue(kUri);
  EXPECT_THAT(Wrong({good_.certificate, second.key}, ca_.pem()),
              AllOf(HasSubstr("the key own.key: does not belong to the certificate own.crt")));
}

TEST_F(CertificatesTest, OfAnotherTimeAreRefused) {
  CertificateWords words;
  words.uris = {kUri};
  words.not_after = absl::Now() - absl::Minutes(1);
  EXPECT_THAT(WrongWords(words), HasSubstr("the certificate own.crt: has expired at 20"));
  words.not_before = absl::Now() + absl::Minutes(10);
  words.not_after = absl::Now() + absl::Hours(1);
  EXPECT_THAT(WrongWords(words), HasSubstr("is valid only from 20"));
}

TEST_F(CertificatesTest, OfAnotherCaAreRefused) {
  EXPECT_THAT(Wrong(good_, other_.pem()),
              AllOf(HasSubstr("with the CAs in ca.crt"), HasSubstr("local issuer")));
}

TEST_F(CertificatesTest, ForAnotherPurposeAreRefused) {
  CertificateWords words;
  words.uris = {kUri};
  words.extended_key_usage = "clientAuth";
  EXPECT_THAT(WrongWords(words), HasSubstr("as the certificate of a server"));
  words.extended_key_usage = "serverAuth";
  EXPECT_THAT(WrongWords(words), HasSubstr("as the certificate of a client"));
}

TEST_F(CertificatesTest, NeedExactlyOneUri) {
  CertificateWords words;
  words.common_name = kUri;
  words.dns = {"spiffe.d.example"};
  EXPECT_THAT(WrongWords(words), AllOf(HasSubstr("has 0 URIs"), Not(HasSubstr("DNS name"))));
  words.dns = {"spiffe.d.example", kUri};
  EXPECT_THAT(
      WrongWords(words),
      AllOf(HasSubstr("has 0 URIs"), HasSubstr("an id that stands as a DNS name does not count")));
  words.uris = {kUri, "spiffe://d.example/placement/two"};
  EXPECT_THAT(WrongWords(words), HasSubstr("has 2 URIs"));
  words.uris = {"https://d.example/placement/one"};
  EXPECT_THAT(WrongWords(words), HasSubstr("is not of the form spiffe://DOMAIN/ROLE/NAME"));
}

TEST_F(CertificatesTest, NeedTheIdThatIsWanted) {
  CertificateUse use = Use();
  use.trust_domain = "other.example";
  EXPECT_THAT(Wrong(good_, ca_.pem(), use), HasSubstr(std::string("is that of ") + kUri +
                                                      ", but must be that of spiffe://other"));
  use = Use();
  use.role = "tracker";
  EXPECT_THAT(Wrong(good_, ca_.pem(), use),
              HasSubstr("must be that of spiffe://d.example/tracker/NAME"));
  use.role = "placement";
  EXPECT_EQ(Wrong(good_, ca_.pem(), use), "nothing is wrong");
  use.name = "two";
  EXPECT_THAT(Wrong(good_, ca_.pem(), use), HasSubstr("placement/two"));
}

TEST_F(CertificatesTest, HalfWrittenFilesAreRefusedWithTheLine) {
  const auto half = [](const std::string& text) { return text.substr(0, text.size() / 2); };
  EXPECT_THAT(Wrong({half(good_.certificate), good_.key}, ca_.pem()),
              HasSubstr("own.crt:1: the block that begins here does not end"));
  EXPECT_THAT(Wrong({good_.certificate, half(good_.key)}, ca_.pem()), HasSubstr("own.key:1: "));
  EXPECT_THAT(Wrong(good_, "# CA\n" + half(ca_.pem())), HasSubstr("ca.crt:2: "));
  const std::string broken = absl::StrReplaceAll(ca_.pem(), {{"MII", "NII"}});
  EXPECT_THAT(Wrong(good_, "\n\n" + broken),
              HasSubstr("ca.crt:3: the certificate that begins here cannot be read"));
  EXPECT_THAT(Wrong({"no", good_.key}, ca_.pem()), HasSubstr("has no certificate"));
  EXPECT_THAT(Wrong({good_.certificate, good_.certificate}, ca_.pem()),
              HasSubstr("has no private key"));
}

// The lines of the CA file that are no part of a certificate, behind the first one.
TEST_F(CertificatesTest, ATornCaFileIsRefusedWithTheLine) {
  const std::string one = ca_.pem();
  const std::string two = other_.pem();
  const auto lines = static_cast<int>(std::count(one.begin(), one.end(), '\n'));
  const std::string begin = "-----BEGIN CERTIFICATE-----\n";
  const std::string end = "-----END CERTIFICATE-----\n";
  ASSERT_EQ(two.find(begin), 0u);
  ASSERT_EQ(two.rfind(end), two.size() - end.size());
  const std::string body = two.substr(begin.size(), two.size() - begin.size() - end.size());
  struct Torn {
    std::string text;
    int line;  // behind the first certificate
    const char* said;
  };
  const Torn cases[] = {
      {body + end, 1, "this text is no part of a certificate"},
      {"\n" + end, 2, "a block ends here that does not begin"},
      {begin + body, 1, "the block that begins here does not end"},
      {begin + body + two, 1, "the block that begins here does not end"},
      {begin.substr(0, 20) + "\n" + body + end, 1, "the line that begins a block is not complete"},
      {"# good\n\nmore\n" + two, 3, "this text is no part of a certificate; remove the line"},
      {good_.key, 1, "the block that begins here is no certificate; remove it"},
      {begin + "bm90IGEgY2VydGlmaWNhdGU=\n" + end, 1,
       "the certificate that begins here cannot be read"},
  };
  for (const Torn& torn : cases) {
    EXPECT_THAT(Wrong(good_, one + torn.text),
                HasSubstr(absl::StrCat("the CA file ca.crt:", lines + torn.line, ": ", torn.said)));
  }
  // A file of certificates that lead to the CA may have any text, but no part of a block.
  EXPECT_EQ(Wrong({good_.certificate + "any text\n" + one, good_.key}, one), "nothing is wrong");
  EXPECT_THAT(Wrong({good_.certificate + end, good_.key}, one), HasSubstr("that does not begin"));
}

TEST_F(CertificatesTest, OnlyCasMayBeAmongTheCas) {
  CertificateWords words;
  words.uris = {kUri};
  const auto wrong = [&](const std::string& basic_constraints, const std::string& key_usage) {
    words.basic_constraints = basic_constraints;
    words.key_usage = key_usage;
    return Wrong(good_, "# CAs\n" + ca_.Issue(words).certificate + ca_.pem());
  };
  EXPECT_THAT(wrong("", ""),
              AllOf(HasSubstr("the CA file ca.crt:2: "), HasSubstr("lacks CA:TRUE")));
  EXPECT_THAT(wrong("critical,CA:FALSE", "keyCertSign"), HasSubstr("lacks CA:TRUE"));
  EXPECT_THAT(wrong("critical,CA:TRUE", "digitalSignature"), HasSubstr("lacks keyCertSign"));
  EXPECT_EQ(wrong("critical,CA:TRUE", "keyCertSign"), "nothing is wrong");
  EXPECT_EQ(wrong("critical,CA:TRUE", ""), "nothing is wrong");
  // Its own certificate would be trusted with no look at who issued it.
  EXPECT_THAT(Wrong(good_, good_.certificate), HasSubstr("ca.crt:1: "));
}

TEST_F(CertificatesTest, AnEncryptedKeyIsRefused) {
  EXPECT_THAT(Wrong({good_.certificate,
                     absl::StrReplaceAll(good_.key, {{"PRIVATE KEY", "ENCRYPTED PRIVATE KEY"}})},
                    ca_.pem()),
              HasSubstr("is encrypted"));
}

TEST_F(CertificatesTest, NoErrorHasAByteOfAKey) {
  const std::string canary = "Q0FOQVJZLUNBTkFSWS1DQU5BUlk";
  for (const std::string& key :
       {canary, "-----BEGIN PRIVATE KEY-----\n" + canary + "\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n" + canary,
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" + canary + "\n-----END PRIVATE KEY-----\n"}) {
    EXPECT_THAT(Wrong({good_.certificate, key}, ca_.pem()),
                AllOf(Not(HasSubstr(canary.substr(0, 8))), HasSubstr("own.key")));
    EXPECT_THAT(Wrong({key, good_.key}, ca_.pem()), Not(HasSubstr(canary.substr(0, 8))));
  }
}

TEST_F(CertificatesTest, FilesThatCannotBeReadAreNamed) {
  const std::string directory = ::testing::TempDir() + "berth-certificates-test";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const auto paths = testing::WriteCertificates(directory, "own", good_, ca_.pem());
  const auto wrong = [&](const std::string& key) {
    return std::string(ReadCertificateFiles({paths.certificate, key, paths.ca}).status().message());
  };
  EXPECT_EQ(wrong(paths.key), "");
  EXPECT_THAT(wrong(directory), HasSubstr("is a directory"));
  EXPECT_THAT(wrong(directory + "/none"), HasSubstr("No such file"));
  testing::WriteText(directory + "/empty", "");
  EXPECT_THAT(wrong(directory + "/empty"), HasSubstr("is empty"));
  testing::WriteText(directory + "/large", std::string(2 << 20, 'x'));
  EXPECT_THAT(wrong(directory + "/large"), HasSubstr("larger than 1 MiB"));
  ASSERT_EQ(mkfifo((directory + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(wrong(directory + "/pipe"), HasSubstr("is not a regular file"));
  std::filesystem::permissions(paths.key, std::filesystem::perms::none);
  const testing::AsNobody as_nobody;
  EXPECT_THAT(wrong(paths.key),
              AllOf(HasSubstr("the key " + paths.key + ": cannot be read: Permission denied"),
                    HasSubstr("the user of this process must be allowed to read it")));
}

}  // namespace
}  // namespace berth::client
