// A hypervisor that hangs, beside others on the same host.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/process/libraries.h"
#include "services/tracker/host.h"

namespace berth::services {
namespace {

// The socket of a libvirt that lets clients connect and never answers them. While this object
// lives, each client hangs.
class HungLibvirt {
 public:
  explicit HungLibvirt(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(door_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(door_, 1), 0);
  }
  ~HungLibvirt() {
    for (const int client : clients_) close(client);
    close(door_);
  }
  HungLibvirt(const HungLibvirt&) = delete;
  HungLibvirt& operator=(const HungLibvirt&) = delete;

  // Waits until one more client hangs.
  bool Wait() {
    pollfd waits = {door_, POLLIN, 0};
    if (poll(&waits, 1, 10'000) != 1) return false;
    clients_.push_back(accept(door_, nullptr, nullptr));
    return true;
  }

 private:
  const int door_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> clients_;
};

TEST(HungHypervisors, FourLeaveTheFifthWorking) {
  SetUpLibraries();  // as the tracker does: the sockets are closed while libvirt writes
  char path[] = "/tmp/berth-hung-XXXXXX";
  const std::string state = mkdtemp(path);
  tracker::Configuration configuration;
  configuration.host = "h";
  configuration.my_address = "127.0.0.1";
  configuration.state_path = state;
  configuration.update_resources_interval_seconds = -1;
  configuration.nodes.resize(5);
  configuration.nodes[0].name = "works";
  configuration.nodes[0].uri = "test:///default";
  std::vector<std::string> sockets;
  for (int i = 1; i <= 4; ++i) {
    sockets.push_back(absl::StrCat(state, "/libvirt-", i));
    configuration.nodes[i].name = absl::StrCat("hangs-", i);
    configuration.nodes[i].uri = "qemu+unix:///system?socket=" + sockets.back();
  }
  TrackerHost host(configuration);
  std::list<HungLibvirt> hung;  // goes before the host, which waits for its passes
  // Nobody listens on the sockets yet, so the first passes of four nodes fail at once.
  ASSERT_TRUE(host.Start([] { return false; }).ok());
  for (size_t i = 0; i < sockets.size(); ++i) {
    hung.emplace_back(sockets[i]);
    host.runners()[i + 1]->Request(tracker::PassCause::kRequest);
    ASSERT_TRUE(hung.back().Wait());
  }
  // Now each of the four waits for libvirt, for a minute at most.
  const auto passed = std::make_shared<std::promise<void>>();
  host.runners()[0]->Request(tracker::PassCause::kRequest, [passed] { passed->set_value(); });
  EXPECT_EQ(passed->get_future().wait_for(std::chrono::seconds(20)),
            std::future_status::ready);                       // T-43, T-390
  EXPECT_EQ(host.runners()[0]->results().at("complete"), 2);  // T-43
  EXPECT_TRUE(host.runners()[0]->node()->view().connected);   // T-390
  EXPECT_EQ(host.runners()[1]->results().count("complete"), 0u);
  hung.clear();  // the four calls end
  std::filesystem::remove_all(state);
}

}  // namespace
}  // namespace berth::services
