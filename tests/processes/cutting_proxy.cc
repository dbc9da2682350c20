#include "tests/processes/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

constexpr int kPollMs = 20;
constexpr char kSocketName[] = "/.s.PGSQL.5432";

sockaddr_un AddressOf(const std::string& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory + kSocketName;
  BERTH_CHECK(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

std::string SocketDirectoryOf(const std::string& url) {
  const size_t begin = url.find("host=") + 5;
  return url.substr(begin, url.find('&', begin) - begin);
}

bool SendAll(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(const std::string& url) : server_directory_(SocketDirectoryOf(url)) {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(directory_.path());
  BERTH_CHECK(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  BERTH_CHECK(listen(listener_, 16) == 0);
  acceptor_ = std::thread([this] { Accept(); });
}

CuttingProxy::~CuttingProxy() {
  ending_ = true;
  acceptor_.join();
  std::vector<std::thread> threads;
  {
    const MutexLock lock(&mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  close(listener_);
}

std::string CuttingProxy::Through(const std::string& url) const {
  return absl::StrReplaceAll(url, {{server_directory_, directory_.path()}});
}

void CuttingProxy::Accept() {
  while (!ending_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, kPollMs) <= 0) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    const MutexLock lock(&mutex_);
    threads_.emplace_back([this, client] { Serve(client); });
  }
}

void CuttingProxy::Serve(int client) {
  ++held_;
  while (hold_new_ && !ending_) poll(nullptr, 0, kPollMs);
  --held_;
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(server_directory_);
  bool open = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  bool cut_at_answer = false;
  std::string last_sent;  // a command may come in pieces
  bool locked = false;    // a batch has begun, its commit has not been sent
  std::vector<char> buffer(1 << 16);
  while (open && !ending_) {
    if (hold_) {
      poll(nullptr, 0, kPollMs);
      continue;
    }
    pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    if (poll(ends, 2, kPollMs) <= 0) continue;
    for (int from = 0; from < 2 && open; ++from) {
      if (ends[from].revents == 0) continue;
      const ssize_t size = recv(ends[from].fd, buffer.data(), buffer.size(), 0);
      if (size <= 0) {
        open = false;
        break;
      }
      const absl::string_view data(buffer.data(), static_cast<size_t>(size));
      if (from == 1 && cut_at_answer) {
        // The commit's answer is the only thing that can come now.
        ++cuts_;
        open = false;
        break;
      }
      if (from == 0) {
        last_sent = last_sent.substr(last_sent.size() > 64 ? last_sent.size() - 64 : 0);
        absl::StrAppend(&last_sent, data);
        // What else a process does under the lock, but for steps of the schema when it starts, begins
        // and commits in one message.
        const bool commits = locked && absl::StrContains(last_sent, "COMMIT");
        locked |= absl::StrContains(last_sent, "pg_advisory_xact_lock(");
        if (absl::StrContains(last_sent, "COMMIT") || absl::StrContains(data, "ROLLBACK")) {
          locked = false;
          last_sent.clear();
        }
        const Cut cut = cut_;
        if (cut != Cut::kNever && commits) {
          cut_ = Cut::kNever;
          if (cut == Cut::kBeforeCommit) {
            ++cuts_;
            open = false;
            break;
          }
          cut_at_answer = true;
        }
      }
      open = SendAll(ends[1 - from].fd, data.data(), data.size());
    }
  }
  close(server);
  close(client);
}

}  // namespace berth::placement
