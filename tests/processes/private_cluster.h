// PrivateCluster: one PostgreSQL for a whole test program, with a database for each test.
//
// Its directory is /tmp/berth-XXXX and is removed when the program ends. For the main thread.
#ifndef BERTH_TESTS_PROCESSES_PRIVATE_CLUSTER_H_
#define BERTH_TESTS_PROCESSES_PRIVATE_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "placement/store/cluster.h"
#include "placement/store/database.h"

namespace berth::placement {

// A new directory /tmp/berth-XXXX. The destructor removes it with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The program's cluster. The first call starts it, and ends the program if that fails.
// fsync is off unless the environment has BERTH_TEST_FSYNC=on.
Cluster& PrivateCluster();

// Ends the cluster before the program ends. Only for programs without GoogleTest's main.
void EndPrivateCluster();

// Makes the database `name`, a copy of the database `model`.
void CreateDatabase(const Cluster& cluster, const std::string& name,
                    const std::string& model = "template0");

// The processes whose parent is `pid`, which has one thread.
std::vector<pid_t> ChildrenOf(pid_t pid);

// Kill ends the server of `cluster` and all of its children at once, as a crash of the machine
// would. Restart starts a server that was killed, however often that has happened, and waits until
// it takes connections; for the thread that started the cluster.
void KillServer(const Cluster& cluster);
void RestartServer(Cluster& cluster);
// Stops the server and all of its children where they are, and lets them go on.
void FreezeServer(const Cluster& cluster);
void ThawServer(const Cluster& cluster);

// The URL of a new, empty database with the newest schema.
std::string NewDatabase();

// What `open` returns. Calls `open` up to ten times while it returns UNAVAILABLE: on a machine that
// is busy with other tests, a connection may take longer than the two seconds that the product
// waits.
template <typename Open>
auto OpenPatiently(const Open& open) {
  auto opened = open();
  for (int tries = 1; tries < 10 && absl::IsUnavailable(opened.status()); ++tries) opened = open();
  return opened;
}

// A connection; ends the program if it fails.
std::unique_ptr<Database> ConnectOrDie(const std::string& url);
// The first value that `sql` returns, as text, or the text of the error.
std::string QueryOne(Database& database, const std::string& sql);

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_PRIVATE_CLUSTER_H_
