// The certificate, the key and the CAs of placement are replaced in every way, while 50 callers a
// second connect anew and claim: no call fails.
//
// A rotation is one way of writing with one kind of replacement. Together they are 100. The test does
// 10 of them, drawn by chance; BERTH_SERVER_ROTATIONS=100 for all, which takes a minute or two.
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "tests/fault/await.h"
#include "tests/fault/call_within.h"
#include "tests/fault/connecting_callers.h"
#include "tests/fault/rotated_files.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
using testing::CertificateAuthority;
using testing::IssuedCertificate;

constexpr char kRotationDomain[] = "d.example";
constexpr absl::Duration kTrustedWithin = absl::Seconds(30);  // bounds a failure alone

struct Rotation {
  WritingManner manner;
  bool new_key = false;
  bool new_ca = false;
};

std::string NameOf(const Rotation& rotation) {
  return absl::StrCat(NameOf(rotation.manner), "; ", rotation.new_key ? "new" : "same", " key, ",
                      rotation.new_ca ? "new" : "same", " CA");
}

std::vector<Rotation> AllRotations() {
  std::vector<Rotation> all;
  for (const WritingManner& manner : AllManners()) {
    for (const bool new_key : {false, true}) {
      for (const bool new_ca : {false, true}) all.push_back({manner, new_key, new_ca});
    }
  }
  return all;
}

size_t RotationsWanted() {
  const char* const text = std::getenv("BERTH_SERVER_ROTATIONS");
  int wanted = 10;
  EXPECT_TRUE(text == nullptr || absl::SimpleAtoi(text, &wanted)) << text;
  return static_cast<size_t>(std::max(1, wanted));
}

std::string MakeDirectory(const std::string& path) {
  std::filesystem::create_directory(path);
  return path;
}

class RotationTest : public ::testing::Test {
 protected:
  RotationTest()
      : served_(IssueServer(/*new_key=*/true)),
        files_(MakeDirectory(scratch_.path() + "/tls"),
               {served_.certificate, served_.key, ca_->pem()}),
        placement_(e2e::StartOrDie(scratch_.path(),
                                   testing::TlsArguments(files_.paths(), kRotationDomain))) {
    MakeHost();
    callers_ = std::make_unique<ConnectingCallers>(placement_->address(), own_);
  }

  IssuedCertificate IssueServer(bool new_key) const {
    testing::CertificateWords words;
    words.uris = {absl::StrCat("spiffe://", kRotationDomain, "/placement/one")};
    if (!new_key) words.key = served_.key;
    return ca_->Issue(words);
  }
  // A new certificate of the present CA, and the CAs that everybody trusts now.
  ConnectingCallers::Files FilesOfCallers() const {
    return {ca_->Issue(absl::StrCat("spiffe://", kRotationDomain, "/admin/caller")), cas_};
  }

  void MakeHost() {
    const auto files = FilesOfCallers();
    const auto channel = testing::OwnChannel(placement_->address(),
                                             testing::ClientCredentials(files.own, files.cas));
    pb::CreateProviderRequest create;
    create.set_name("host");
    pb::CreateProviderResponse created;
    grpc::Status status = pb::ProviderService::NewStub(channel)->CreateProvider(
        CallWithin(kTrustedWithin).get(), create, &created);
    ASSERT_TRUE(status.ok()) << status.error_message();
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(1000);
    pb::SetInventoriesResponse done;
    status = pb::InventoryService::NewStub(channel)->SetInventories(
        CallWithin(kTrustedWithin).get(), set, &done);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  // Whether placement takes a caller with these files.
  bool Takes(const ConnectingCallers::Files& files) const {
    const auto channel = testing::OwnChannel(placement_->address(),
                                             testing::ClientCredentials(files.own, files.cas));
    pb::ListTraitsResponse response;
    return pb::CatalogService::NewStub(channel)
        ->ListTraits(CallWithin(kTrustedWithin).get(), {}, &response)
        .ok();
  }

  // The steps of an operator: first the callers trust the CAs that placement will need, then
  // placement gets its files, then the callers get theirs.
  void Rotate(const Rotation& rotation) {
    if (rotation.new_ca) {
      old_ca_ = std::move(ca_);
      ca_ = std::make_unique<CertificateAuthority>(absl::StrCat("ca-", ++cas_made_));
      const bool new_first = random_() % 2 == 0;
      cas_ = new_first ? ca_->pem() + old_ca_->pem() : old_ca_->pem() + ca_->pem();
      callers_->Use({own_.own, cas_});
      // Only now does everybody trust both.
      ASSERT_TRUE(callers_->AwaitThoseBefore());
    } else {
      cas_ = ca_->pem();  // the old one has no more certificates: the overlap ends
    }
    served_ = IssueServer(rotation.new_key);
    files_.Replace({served_.certificate, served_.key, cas_}, rotation.manner, [this] {
      if (random_() % 2 == 0) placement_->Signal(SIGHUP);  // it looks at once
      ASSERT_TRUE(callers_->AwaitOne());
    });
    if (random_() % 4 != 0) placement_->Signal(SIGHUP);
    const absl::Time written_at = absl::Now();
    ASSERT_TRUE(callers_->AwaitServed(served_.certificate)) << placement_->Log();
    slowest_rotation_ = std::max(slowest_rotation_, absl::Now() - written_at);
    own_ = FilesOfCallers();
    ASSERT_TRUE(AwaitWithin(kTrustedWithin, [this] { return Takes(own_); })) << placement_->Log();
    callers_->Use(own_);
    ASSERT_TRUE(callers_->AwaitThoseBefore());
  }

  std::mt19937_64 random_{placement::Seed()};
  const placement::ScratchDirectory scratch_;
  std::unique_ptr<CertificateAuthority> ca_ = std::make_unique<CertificateAuthority>("ca-0");
  std::unique_ptr<CertificateAuthority> old_ca_;
  int cas_made_ = 0;
  std::string cas_ = ca_->pem();                     // PEM of the CAs that everybody trusts now
  ConnectingCallers::Files own_ = FilesOfCallers();  // of the callers
  IssuedCertificate served_;
  RotatedFiles files_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::unique_ptr<ConnectingCallers> callers_;
  absl::Duration slowest_rotation_;
};

TEST_F(RotationTest, NoCallFailsWhateverTheOrderOfWriting) {
  std::vector<Rotation> rotations = AllRotations();
  ASSERT_EQ(rotations.size(), 100u);
  std::shuffle(rotations.begin(), rotations.end(), random_);
  rotations.resize(std::min(rotations.size(), RotationsWanted()));
  const absl::Time begin = absl::Now();
  for (size_t i = 0; i < rotations.size() && !HasFatalFailure(); ++i) {
    const std::string name = absl::StrCat("rotation ", i + 1, " (", NameOf(rotations[i]), ")");
    SCOPED_TRACE(name);
    callers_->Name(name);
    Rotate(rotations[i]);
  }
  callers_->Stop();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  for (const std::string& failure : callers_->failures()) ADD_FAILURE() << failure;
  std::printf(
      "%zu rotations in %.1f s; %lld connections, %.1f a second; the slowest claim took "
      "%.0f ms; a new certificate was served %.1f s after its files were, at most\n",
      rotations.size(), seconds, static_cast<long long>(callers_->connections()),
      static_cast<double>(callers_->connections()) / seconds,
      absl::ToDoubleMilliseconds(callers_->slowest()), absl::ToDoubleSeconds(slowest_rotation_));
}

}  // namespace
}  // namespace berth::fault
