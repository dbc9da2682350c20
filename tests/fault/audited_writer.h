// AuditedWriter: a caller that writes of every kind, whatever fails, and knows of each write at its
// end whether and at which revision it was done.
//
// Each write has a request id and changes something of the caller's own, so none is refused. An
// outcome that is not known is asked for, or the write is sent again with its id. One thread.
#ifndef BERTH_TESTS_FAULT_AUDITED_WRITER_H_
#define BERTH_TESTS_FAULT_AUDITED_WRITER_H_

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/fault/claim_client.h"
#include "tests/fault/tally.h"

namespace berth::fault {

// What all writers of a run count together. Thread-safe.
struct WriteTally {
  explicit WriteTally(int64_t wanted) : goal(wanted) {}

  const int64_t goal;                 // how many writes there are
  std::atomic<int64_t> begun{0};      // may pass the goal, when writers find it reached
  Count settled;                      // writes whose outcome is known
  std::atomic<int64_t> unknown{0};    // calls that left the outcome open
  std::atomic<int64_t> repeats{0};    // writes that were sent again
  std::atomic<int64_t> cancelled{0};  // writes that were not done, and never will be
  std::atomic<bool> stop{false};      // the writers end before the goal
};

class AuditedWriter {
 public:
  // A write that was done.
  struct Done {
    std::string method;  // for example ProviderService/CreateProvider
    int64_t revision = 0;
  };

  // Calls as `identity`, for example admin/one. Claims on the provider `host`.
  AuditedWriter(std::string identity, uint64_t seed, std::string host, const Endpoint* endpoint,
                WriteTally* tally);

  // Writes until the writers of the tally together have reached its goal, or have to stop.
  void Run();

  const std::string& identity() const { return identity_; }
  // By request id. Not during Run.
  const std::map<std::string, Done>& done() const { return done_; }
  // Descriptions of answers that break a promise of placement; empty: none did. Not during Run.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  // One write, from its request to what the writer takes from the answer.
  struct Write {
    const char* method;
    std::unique_ptr<google::protobuf::Message> request, response;
    std::function<void()> take;
  };
  struct Provider {
    std::string uuid;
    int64_t generation = 0;
    bool has_trait = false;
  };
  struct Record {
    std::string uuid;
    int64_t generation = 0;
    bool is_active = false;
  };
  enum class Outcome { kDone, kNotDone, kOpen };

  void Connect();
  // A write that is possible with what the writer has.
  Write Draw();
  Write Claim();
  Write Place();
  Write Release();
  Write CreateProvider();
  Write RenameProvider(Provider* provider);
  Write SetInventory(Provider* provider);
  Write ToggleTrait(Provider* provider);
  Write DeleteProvider();
  Write CreateTrait();
  Write DeleteTrait();
  Write CreateRecord();
  Write ChangeRecord(Record* record);
  Write DeleteRecord();

  // Sends the write until its outcome is known.
  void Settle(const std::string& id, Write* write);
  Outcome Send(Write* write);
  Outcome Ask(const std::string& id, bool cancel, Write* write);
  std::string NewName(const std::string& kind);

  const std::string identity_;
  std::mt19937_64 random_;
  const std::string host_;
  const Endpoint* const endpoint_;
  WriteTally* const tally_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  int64_t named_ = 0;
  std::vector<std::string> consumers_, traits_;
  std::vector<Provider> providers_;
  std::vector<Record> records_;
  std::map<std::string, Done> done_;
  std::vector<std::string> complaints_;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_AUDITED_WRITER_H_
