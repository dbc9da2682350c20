// A file server that stops answering: opening a file below its directory hangs, as on a dead NFS mount.
//
// Works by replacing open() in the program that links it. One at a time; thread-safe.
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

  void Die();
  void Recover();
  // How many calls of open() hang.
  int hanging() const;
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_HYPERVISOR_DEAD_FILE_SERVER_H_
