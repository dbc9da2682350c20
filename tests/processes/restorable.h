// Restorable: a database of the program's cluster that can be copied and restored from the copy,
// even with open connections. The test fails if an operation fails.
#ifndef BERTH_TESTS_PROCESSES_RESTORABLE_H_
#define BERTH_TESTS_PROCESSES_RESTORABLE_H_

#include <string>

#include "placement/store/database.h"

namespace berth::placement {

class Restorable {
 public:
  Restorable();

  const std::string& url() const { return url_; }
  // Both end all connections to the database.
  void Save();
  void Restore();

 private:
  void CutOff(Database& database);

  const std::string url_;
  std::string name_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_RESTORABLE_H_
