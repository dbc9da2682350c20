// TakenPort: a port of 127.0.0.1 on which somebody already listens. Thread-safe.
#ifndef BERTH_TESTS_PROCESSES_TAKEN_PORT_H_
#define BERTH_TESTS_PROCESSES_TAKEN_PORT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace berth {

class TakenPort {
 public:
  TakenPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, where, length), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, where, &length), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~TakenPort() { close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  // HOST:PORT.
  const std::string& address() const { return address_; }
  // Waits until somebody has connected. Returns the connection, which the caller closes; -1 if nobody
  // has connected in time.
  int Accept(int seconds = 10) const {
    const timeval limit{seconds, 0};
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    return accept(socket_, nullptr, nullptr);
  }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
  std::string address_;
};

}  // namespace berth

#endif  // BERTH_TESTS_PROCESSES_TAKEN_PORT_H_
