// LedgerRunner: a Ledger on a test's database, with the loops that services/ runs in production.
//
// Thread-safe except construction and destruction.
#ifndef BERTH_TESTS_PROCESSES_LEDGER_RUNNER_H_
#define BERTH_TESTS_PROCESSES_LEDGER_RUNNER_H_

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/store/position_file.h"

namespace berth::placement {

class LedgerRunner {
 public:
  // Opens a ledger with `options`, except their tell_operator. Ends the program if that fails.
  // `loops`: whether threads call Follow and Watchdog all the time.
  explicit LedgerRunner(LedgerOptions options, bool loops = true);
  ~LedgerRunner();

  Ledger& ledger() { return *ledger_; }
  // Submits `body` and waits for its decision.
  Decision Do(CommandBody body, const std::string& request_id = "");
  Decision Do(Command command, absl::Duration limit = absl::Seconds(30));
  std::future<Decision> Begin(Command command, absl::Duration limit = absl::Seconds(30));
  // The same; the test fails if the command is refused.
  Decision Must(CommandBody body, const std::string& request_id = "");

  // Writes the newest position to the file that the options name, as the destructor does.
  void KeepPosition();

  // The messages to the operator so far.
  std::string told() const;
  // Waits until `holds`; false after 30 s.
  static bool Eventually(const std::function<bool()>& holds);

 private:
  mutable Mutex mutex_;
  std::string told_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PositionFile> position_file_;
  std::unique_ptr<Ledger> ledger_;
  std::atomic<bool> ending_{false};
  std::vector<std::thread> loops_;
};

// The defaults, except that a slow machine ends no batch: what waits together is decided together.
LedgerOptions OptionsFor(const std::string& url);

// The reason of the refusal, or the name of the status code if there is no reason, such as "OK".
std::string ReasonOf(const Decision& decision);

// Commands in one line.
Command WithId(CommandBody body, const std::string& request_id);
ProviderId ProviderNumber(int number);
ConsumerId ConsumerNumber(int number);
CommandBody NewProvider(int number);
// Inventories of VCPU and MEMORY_MB; `generation` is the provider's.
CommandBody Offer(int provider, Generation generation, Amount vcpu, Amount memory_mb);
// A claim of VCPU by `consumer`. Without a generation the consumer is new.
CommandBody Claim(int consumer, std::vector<int> providers, int32_t vcpu,
                  std::optional<Generation> generation = std::nullopt);
CommandBody Release(int consumer, Generation generation);
// Creates providers 1..count with these inventories, and the classes.
void MakeProviders(LedgerRunner& runner, int count, Amount vcpu, Amount memory_mb);

// Use of the provider's first class; 0 without inventories, -1 if there is no such provider.
Amount UsedOf(const State& state, int provider);

// Fails the test if two states differ in anything that the tables hold.
void ExpectEqualStates(const State& a, const State& b);
// Fails the test if the self-check finds a difference or cannot run.
void ExpectCleanSelfCheck(LedgerRunner& runner, const std::string& url);

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_LEDGER_RUNNER_H_
