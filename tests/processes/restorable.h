// Restorable: a database of the program's cluster that can be copied and put back as it was, whoever
// is connected. Failures fail the test.
#ifndef BERTH_TESTS_PROCESSES_RESTORABLE_H_
#define BERTH_TESTS_PROCESSES_RESTORABLE_H_

#include <string>

#include "placement/store/database.h"

namespace berth::placement {

class Restorable {
 public:
  Restorable();

  const std::string& url() const { return url_; }
  // Both end all connections to it.
  void Save();
  void Restore();

 private:
  void CutOff(Database& database);

  const std::string url_;
  std::string name_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_RESTORABLE_H_
