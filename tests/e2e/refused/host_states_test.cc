// Queries for the states of very many roots at once.
#include <algorithm>
#include <string>
#include <vector>

#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host_state.pb.h"
#include "tests/e2e/refused/refused.h"

namespace berth::e2e {
namespace {

constexpr int kRootsMax = 100'000;
constexpr int kNodes = 250;
constexpr char kListHostStates[] = "HostStateService/ListHostStates";

class ManyRoots : public RefusedTest {
 protected:
  static std::string NewNode() {
    pb::CreateNodeRequest request;
    request.set_node_uuid(Random());
    request.set_name("node-" + request.node_uuid());
    request.set_host("host-" + request.node_uuid());
    pb::CreateNodeResponse response;
    Do("FleetService/CreateNode", request, &response);
    return request.node_uuid();
  }
};

// Most of them are no node's, and the nodes are scattered among them.
TEST_F(ManyRoots, AHundredThousandAreAnsweredPageByPage) {
  std::vector<std::string> nodes;
  pb::ListHostStatesRequest request;
  for (int i = 0; i < kRootsMax; ++i) {
    if (i % (kRootsMax / kNodes) == 0) nodes.push_back(NewNode());
    request.add_root_uuids(i % (kRootsMax / kNodes) == 0 ? nodes.back() : Random());
  }
  NewNode();  // nobody asks for it
  std::sort(nodes.begin(), nodes.end());
  request.set_page_size(kNodes / 2 - 1);
  std::vector<std::string> seen;
  int pages = 0;
  do {
    pb::ListHostStatesResponse page;
    Do(kListHostStates, request, &page);
    ASSERT_LT(pages++, 3);
    EXPECT_LE(page.states_size(), request.page_size());
    EXPECT_FALSE(page.truncated());
    for (const pb::HostState& state : page.states()) seen.push_back(state.node().uuid());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(seen, nodes);  // T-338
}

TEST_F(ManyRoots, OneMoreIsRefused) {
  pb::ListHostStatesRequest request;
  const std::string node = NewNode();
  for (int i = 0; i < kRootsMax; ++i) request.add_root_uuids(node);
  EXPECT_EQ(Told<pb::ListHostStatesResponse>(kListHostStates, request), "OK");
  request.add_root_uuids(node);
  EXPECT_EQ(Told<pb::ListHostStatesResponse>(kListHostStates, request),
            "INVALID_ARGUMENT INVALID_FIELD field=root_uuids");
}

TEST_F(ManyRoots, ATokenIsOfTheRootsOfItsFirstPage) {
  pb::ListHostStatesRequest request;
  for (int i = 0; i < 2; ++i) request.add_root_uuids(NewNode());
  for (int i = 2; i < kRootsMax; ++i) request.add_root_uuids(Random());
  request.set_page_size(1);
  pb::ListHostStatesResponse page;
  Do(kListHostStates, request, &page);
  ASSERT_FALSE(page.next_page_token().empty());
  request.set_page_token(page.next_page_token());
  request.set_root_uuids(kRootsMax - 1, Random());
  EXPECT_EQ(Told<pb::ListHostStatesResponse>(kListHostStates, request),
            "INVALID_ARGUMENT PAGE_TOKEN_MISMATCH field=page_token");
  request.set_root_uuids(kRootsMax - 1, "junk");
  request.clear_page_token();
  EXPECT_EQ(Told<pb::ListHostStatesResponse>(kListHostStates, request),
            "INVALID_ARGUMENT INVALID_FIELD field=root_uuids[99999]");
}

}  // namespace
}  // namespace berth::e2e
