// PrivateCluster: one PostgreSQL for a whole test program, and a database of its own for each test.
//
// Lies in /tmp/berth-XXXX and goes with the program. For the main thread.
#ifndef BERTH_TESTS_PROCESSES_PRIVATE_CLUSTER_H_
#define BERTH_TESTS_PROCESSES_PRIVATE_CLUSTER_H_

#include <memory>
#include <string>

#include "placement/store/cluster.h"
#include "placement/store/database.h"

namespace berth::placement {

// A new directory /tmp/berth-XXXX, removed with everything in it when this goes.
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

// The program's cluster, started when it is first asked for. Ends the program where there is none.
// Durable where the environment says BERTH_TEST_FSYNC=on; else fsync is off.
Cluster& PrivateCluster();

// Ends it before the program ends. Only for programs without GoogleTest's main.
void EndPrivateCluster();

// The address of a new database that is up to date and empty.
std::string NewDatabase();

// A connection that the test is sure to get.
std::unique_ptr<Database> ConnectOrDie(const std::string& url);
// The first value of what `sql` returns, as text; the failure's text where it fails.
std::string QueryOne(Database& database, const std::string& sql);

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_PRIVATE_CLUSTER_H_
