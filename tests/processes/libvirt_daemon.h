// LibvirtDaemon: a libvirt daemon for one test, with its own directories and socket, run by an
// unprivileged user. It ends with the test.
#ifndef BERTH_TESTS_PROCESSES_LIBVIRT_DAEMON_H_
#define BERTH_TESTS_PROCESSES_LIBVIRT_DAEMON_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace berth::tracker {

class LibvirtDaemon {
 public:
  // Null, with the reason in `why`, if the daemon cannot run.
  static std::unique_ptr<LibvirtDaemon> Start(std::string* why);
  ~LibvirtDaemon();
  LibvirtDaemon(const LibvirtDaemon&) = delete;
  LibvirtDaemon& operator=(const LibvirtDaemon&) = delete;

  // URIs of the daemon's QEMU session and of its test driver.
  std::string QemuUri() const;
  std::string TestUri() const;
  // A directory that the daemon's user may write.
  const std::string& directory() const { return directory_; }

  // Ends the daemon with SIGKILL, like a crash.
  void Kill();
  // Starts the daemon again on the same socket; false if that fails.
  bool Restart();

 private:
  LibvirtDaemon(std::string directory, std::string program)
      : directory_(std::move(directory)), program_(std::move(program)) {}
  std::string Socket() const;
  bool Launch();

  const std::string directory_;
  const std::string program_;
  pid_t process_ = -1;
};

// Standard output of a program; the test fails if the program fails.
std::string Output(const std::vector<std::string>& arguments);

}  // namespace berth::tracker

#endif  // BERTH_TESTS_PROCESSES_LIBVIRT_DAEMON_H_
