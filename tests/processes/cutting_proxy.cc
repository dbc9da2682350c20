#include "tests/processes/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <set>

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

// Finds out where a batch goes to the server: in what one client has sent so far.
class BatchFinder {
 public:
  // Whether `data`, which comes next, holds the batch of a writer or its commit.
  bool Sees(absl::string_view data) {
    // A message may come in pieces.
    last_ = last_.substr(last_.size() > 64 ? last_.size() - 64 : 0);
    absl::StrAppend(&last_, data);
    // What else a process does under the lock, but for steps of the schema when it starts, begins
    // and commits in one message.
    const bool commits = locked_ && absl::StrContains(last_, "COMMIT");
    locked_ |= absl::StrContains(last_, "pg_advisory_xact_lock(");
    if (absl::StrContains(last_, "COMMIT") || absl::StrContains(data, "ROLLBACK")) {
      locked_ = false;
      last_.clear();
    }
    return commits || IsShort(data);
  }

 private:
  // Whether `data` binds values to a statement that locks, compares and writes. Notes each
  // statement of this kind that is prepared.
  bool IsShort(absl::string_view data) {
    const size_t prepare = data.find("PREPARE s");
    if (prepare != absl::string_view::npos && absl::StrContains(data, "lock_ledger_at(")) {
      const absl::string_view name = data.substr(prepare + 8);
      names_.insert(std::string(name.substr(0, name.find(' '))));
      return false;
    }
    // Bind: 'B', four bytes of length, the portal's name, which is empty, the statement's name.
    if (data.size() < 8 || data[0] != 'B') return false;
    const absl::string_view name = data.substr(6);
    return names_.count(std::string(name.substr(0, name.find('\0')))) > 0;
  }

  std::string last_;
  bool locked_ = false;  // a batch has begun, its commit has not been sent
  std::set<std::string> names_;
};

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
  bool late = false;
  bool client_spoke_last = false;
  BatchFinder finder;
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
      if (from == 0 && !client_spoke_last) ++round_trips_;
      client_spoke_last = from == 0;
      if (from == 1 && cut_at_answer) {
        // The commit's answer is the only thing that can come now.
        ++cuts_;
        open = false;
        break;
      }
      if (from == 0) {
        const bool is_batch = finder.Sees(data);
        const Cut cut = cut_;
        if (cut != Cut::kNever && is_batch) {
          cut_ = Cut::kNever;
          if (cut == Cut::kLate) {
            KeepLate(client, server, std::string(data));
            late = true;
            open = false;
            break;
          }
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
  if (!late) close(server);
  close(client);
}

void CuttingProxy::KeepLate(int client, int server, std::string message) {
  // The rest of the message, if any: whoever sends it waits for the answer then.
  std::vector<char> buffer(1 << 16);
  pollfd more{client, POLLIN, 0};
  while (poll(&more, 1, kPollMs) > 0) {
    const ssize_t size = recv(client, buffer.data(), buffer.size(), 0);
    if (size <= 0) break;
    message.append(buffer.data(), static_cast<size_t>(size));
  }
  const MutexLock lock(&mutex_);
  late_server_ = server;
  late_message_ = std::move(message);
  ++cuts_;
}

std::string CuttingProxy::DeliverLate() {
  const MutexLock lock(&mutex_);
  BERTH_CHECK(late_server_ >= 0);
  SendAll(late_server_, late_message_.data(), late_message_.size());
  char answer[1 << 12];
  // Comes when the batch is committed, or is not.
  const ssize_t size = recv(late_server_, answer, sizeof(answer), 0);
  close(late_server_);
  late_server_ = -1;
  return std::string(answer, size > 0 ? static_cast<size_t>(size) : 0);
}

}  // namespace berth::placement
