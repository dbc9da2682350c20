// Which role may call what, without a server.
#include "services/access/table.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/services/access/agreed_table.h"

namespace berth::services {
namespace {

namespace acl = access::v1;
namespace pb = placement::v1;

std::string ReasonOf(const absl::Status& status) {
  const auto refusal = placement::RefusalOf(status);
  return refusal ? refusal->reason : "";
}

TEST(AccessTableTest, EachCallHasTheRolesThatWereAgreedOn) {
  std::map<std::string, std::set<std::string>> agreed;
  for (const AgreedRow& row : kAgreedTable) {
    for (const auto method : absl::StrSplit(row.methods, ' ', absl::SkipEmpty())) {
      agreed[std::string(method)] = absl::StrSplit(row.roles, ' ');
    }
  }
  for (const MethodAccess* method : AccessTable::Get().All()) {
    // "FleetService/ListNodes": the last part of the package is cut off.
    const size_t slash = method->method.find('/');
    const std::string name = method->method.substr(method->method.rfind('.', slash) + 1);
    ASSERT_TRUE(agreed.contains(name)) << method->method;
    for (const char* role : {"tracker", "reader", "scheduler", "operator", "admin", "placement"}) {
      EXPECT_EQ(method->Permit(RoleOf(role)).ok(), agreed[name].contains(role))
          << role << " " << method->method;
    }
  }
  EXPECT_EQ(AccessTable::Get().All().size(), agreed.size());
}

TEST(AccessTableTest, OthersMayCallNothing) {
  for (const MethodAccess* method : AccessTable::Get().All()) {
    for (const char* role : {"", "root", "Admin", "admin ", "ROLE_ADMIN", "unspecified"}) {
      EXPECT_EQ(ReasonOf(method->Permit(RoleOf(role))), "ROLE_NOT_PERMITTED") << role;
    }
  }
}

TEST(AccessTableTest, ARefusalSaysWhoMay) {
  const MethodAccess* method =
      AccessTable::Get().Find("/berth.placement.v1.CandidateService/Claim");
  ASSERT_NE(method, nullptr);
  const auto refusal = placement::RefusalOf(method->Permit(acl::ROLE_READER));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(
      refusal->items,
      (std::vector<placement::FaultItem>{{{"method", "berth.placement.v1.CandidateService/Claim"},
                                          {"role", "reader"},
                                          {"roles", "scheduler, operator, admin"}}}));
}

TEST(AccessTableTest, FindsAMethodByTheLastPartsOfItsName) {
  const AccessTable& table = AccessTable::Get();
  for (const char* name : {"/berth.placement.v1.CandidateService/Claim", "Claim",
                           "CandidateService.Claim", "CandidateService/Claim"}) {
    const auto found = table.FindByName(name);
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_EQ(found[0]->method, "berth.placement.v1.CandidateService/Claim");
  }
  EXPECT_EQ(table.FindByName("ListNodes").size(), 2U);
  EXPECT_EQ(table.FindByName("laim").size(), 0U);
  EXPECT_EQ(table.FindByName("").size(), 0U);
  EXPECT_EQ(table.Find("/berth.placement.v1.CandidateService/claim"), nullptr);
}

// What an operator and an admin are answered who set `cascade` of the request of this RPC.
template <typename Request>
void ExpectCascadeOfAdmins(absl::string_view method_name) {
  const MethodAccess* method =
      AccessTable::Get().Find(absl::StrCat("/berth.placement.v1.", method_name));
  ASSERT_NE(method, nullptr);
  Request request;
  EXPECT_TRUE(method->PermitRequest(acl::ROLE_OPERATOR, "ann", request).ok());
  request.set_cascade(true);
  EXPECT_EQ(ReasonOf(method->PermitRequest(acl::ROLE_OPERATOR, "ann", request)),
            "ROLE_NOT_PERMITTED");
  EXPECT_TRUE(method->PermitRequest(acl::ROLE_ADMIN, "ann", request).ok());
}

TEST(AccessTableTest, OnlyAnAdminDeletesANodeOrAServiceWithAllThatIsOnIt) {
  ExpectCascadeOfAdmins<pb::DeleteNodeRequest>("FleetService/DeleteNode");
  ExpectCascadeOfAdmins<pb::DeleteServiceRequest>("FleetService/DeleteService");
}

TEST(AccessTableTest, ATrackerCallsInTheNameOfItsHost) {
  const MethodAccess* method =
      AccessTable::Get().Find("/berth.placement.v1.InstanceService/SetInstance");
  ASSERT_NE(method, nullptr);
  pb::SetInstanceRequest request;
  EXPECT_EQ(ReasonOf(method->PermitRequest(acl::ROLE_TRACKER, "h1", request)), "POLICY_DENIED");
  request.mutable_tracker()->set_host("h2");
  EXPECT_EQ(ReasonOf(method->PermitRequest(acl::ROLE_TRACKER, "h1", request)), "POLICY_DENIED");
  request.mutable_tracker()->set_host("h1");
  EXPECT_TRUE(method->PermitRequest(acl::ROLE_TRACKER, "h1", request).ok());
}

}  // namespace
}  // namespace berth::services
