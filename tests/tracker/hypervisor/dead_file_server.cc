#include "tests/tracker/hypervisor/dead_file_server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <vector>

#include "tracker/ground/boot_clock.h"
#include "tracker/ground/mutex.h"

namespace berth::tracker {
namespace {

struct Server {
  Mutex mutex;
  CondVar changed;
  std::vector<std::string> directories ABSL_GUARDED_BY(mutex);
  bool dead ABSL_GUARDED_BY(mutex) = false;
  int hanging ABSL_GUARDED_BY(mutex) = 0;
  int opened ABSL_GUARDED_BY(mutex) = 0;
};

// Lives for ever: open() may be called before main() and after it.
Server& TheServer() {
  static Server* const server = new Server;
  return *server;
}

void HangWhileDead(const char* path, bool opens) {
  Server& server = TheServer();
  MutexLock lock(&server.mutex);
  const bool served = std::any_of(
      server.directories.begin(), server.directories.end(),
      [&](const std::string& directory) { return std::string(path).rfind(directory, 0) == 0; });
  if (!served) return;
  server.opened += opens ? 1 : 0;
  ++server.hanging;
  server.changed.NotifyAll();
  while (server.dead) {
    server.changed.WaitUntil(&server.mutex, BootClock::now() + std::chrono::hours(1));
  }
  --server.hanging;
}

}  // namespace

DeadFileServer::DeadFileServer(const std::string& directory) { ServeAs(directory); }

DeadFileServer::~DeadFileServer() {
  Recover();
  MutexLock lock(&TheServer().mutex);
  TheServer().directories.clear();
}

void DeadFileServer::ServeAs(const std::string& directory) {
  MutexLock lock(&TheServer().mutex);
  TheServer().directories.push_back(directory + "/");
}

void DeadFileServer::Die() {
  MutexLock lock(&TheServer().mutex);
  TheServer().dead = true;
}

void DeadFileServer::Recover() {
  MutexLock lock(&TheServer().mutex);
  TheServer().dead = false;
  TheServer().changed.NotifyAll();
}

int DeadFileServer::hanging() const {
  MutexLock lock(&TheServer().mutex);
  return TheServer().hanging;
}

int DeadFileServer::opened() const {
  MutexLock lock(&TheServer().mutex);
  return TheServer().opened;
}

}  // namespace berth::tracker

// The program's own definitions take the place of libc's.
extern "C" int open(const char* path, int flags, ...) {
  berth::tracker::HangWhileDead(path, true);
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" int stat(const char* path, struct stat* status) {
  berth::tracker::HangWhileDead(path, false);
  return fstatat(AT_FDCWD, path, status, 0);
}
