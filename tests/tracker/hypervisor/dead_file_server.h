// A file server that stops answering: looking at a file below its directory hangs, as on a dead NFS
// mount.
//
// Works by replacing open() and stat() in the program that links it. One at a time; thread-safe.
#ifndef BERTH_TESTS_TRACKER_HYPERVISOR_DEAD_FILE_SERVER_H_
#define BERTH_TESTS_TRACKER_HYPERVISOR_DEAD_FILE_SERVER_H_

#include <string>

namespace berth::tracker {

class DeadFileServer {
 public:
  // Serves `directory`, and answers until Die().
  explicit DeadFileServer(const std::string& directory);
  // Lets every hanging open() go on.
  ~DeadFileServer();

  // Serves `directory`, too: another name for the first one, such as a symbolic link.
  void ServeAs(const std::string& directory);
  void Die();
  void Recover();
  // How many calls hang.
  int hanging() const;
  // How many files were opened.
  int opened() const;
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_HYPERVISOR_DEAD_FILE_SERVER_H_
