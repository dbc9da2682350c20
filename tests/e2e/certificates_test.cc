// Who placement takes its callers for: by their certificates where the environment asks for
// certificates (tests/processes/identity.h), and otherwise for nobody.
#include <grpcpp/security/credentials.h>

#include <iostream>

#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "tests/e2e/calls.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {
namespace {

namespace acl = ::berth::access::v1;

class CertificatesE2e : public CallsTest {
 protected:
  static acl::WhoAmIResponse WhoIs(const std::shared_ptr<grpc::Channel>& channel) {
    return MustCall<acl::AccessService>(channel, &acl::AccessService::Stub::WhoAmI,
                                        acl::WhoAmIRequest());
  }
};

TEST_F(CertificatesE2e, ACallerIsKnownByItsCertificateAlone) {
  const acl::WhoAmIResponse test = WhoIs(channel_);
  const acl::WhoAmIResponse tracker = WhoIs(TrackerChannel("h1"));
  EXPECT_EQ(test.identified(), HaveCertificates());
  EXPECT_EQ(tracker.identified(), HaveCertificates());
  if (!HaveCertificates()) {
    std::cout << "nobody has a certificate\n";  // the run over TLS must not say this
    return;
  }
  EXPECT_EQ(test.role(), acl::ROLE_ADMIN);
  EXPECT_EQ(test.name(), "test");
  EXPECT_EQ(tracker.role(), acl::ROLE_TRACKER);
  EXPECT_EQ(tracker.name(), "h1");
}

TEST_F(CertificatesE2e, WhoHasNoneIsTurnedAwayAndATrackerChangesNoInventory) {
  pb::ListTraitsRequest list;
  pb::ListTraitsResponse listed;
  const auto nobody = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  EXPECT_EQ(InvokeOn(nobody, "CatalogService/ListTraits", list, &listed).ok(), !HaveCertificates());
  const pb::Provider host = NewProvider();
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(host.uuid());
  set.set_expected_generation(host.generation());
  (*set.mutable_inventories())["VCPU"].set_total(8);
  pb::SetInventoriesResponse done;
  const grpc::Status status =
      InvokeOn(TrackerChannel("h1"), "InventoryService/SetInventories", set, &done);
  EXPECT_EQ(ReasonOf(status), HaveCertificates() ? "ROLE_NOT_PERMITTED" : "");
  EXPECT_EQ(Read(host.uuid()).inventories_size(), HaveCertificates() ? 0 : 1);
}

}  // namespace
}  // namespace berth::e2e
