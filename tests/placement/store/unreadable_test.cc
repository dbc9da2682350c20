// A connection that cannot be read, although the server has not closed it.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "placement/store/database.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/private_cluster.h"

namespace {

// This thread's read with this number fails as if the kernel had no memory. 0: none does.
thread_local int reads_until_failure = 0;

}  // namespace

// For the whole program, libpq included.
extern "C" ssize_t recv(int socket, void* buffer, size_t size, int flags) {
  if (reads_until_failure > 0 && --reads_until_failure == 0) {
    errno = ENOMEM;
    return -1;
  }
  return recvfrom(socket, buffer, size, flags, nullptr, nullptr);
}

namespace berth::placement {
namespace {

// To ask the server to cancel the statement would wait for the server, and nothing would end that.
TEST(UnreadableConnection, IsGivenUpWithoutAskingTheServer) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  auto database = ConnectOrDie(proxy.Through(url));
  proxy.HoldNew(true);
  absl::Status status;
  std::atomic<bool> ended{false};
  std::thread caller([&] {
    reads_until_failure = 5;  // the statement has been sent by then: it reads every 10 ms
    status = database->Run("SELECT pg_sleep(20)", nullptr);
    EXPECT_EQ(reads_until_failure, 0);
    ended = true;
  });
  while (!ended && proxy.held() == 0) std::this_thread::yield();
  EXPECT_EQ(proxy.held(), 0);
  proxy.HoldNew(false);
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "could not receive data")) << status;
}

}  // namespace
}  // namespace berth::placement
