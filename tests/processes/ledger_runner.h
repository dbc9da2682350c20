// LedgerRunner: a Ledger on a database of a test, with the loops that services/ would run.
//
// Thread-safe but for construction and destruction.
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

namespace berth::placement {

class LedgerRunner {
 public:
  // Opens a ledger with `options`, whose tell_operator is replaced. Ends the program where it does
  // not open. `loops`: whether threads call Follow and Watchdog all the time.
  explicit LedgerRunner(LedgerOptions options, bool loops = true);
  ~LedgerRunner();

  Ledger& ledger() { return *ledger_; }
  // Submits `body` and waits for its decision.
  Decision Do(CommandBody body, const std::string& request_id = "");
  Decision Do(Command command, absl::Duration limit = absl::Seconds(30));
  std::future<Decision> Begin(Command command, absl::Duration limit = absl::Seconds(30));
  // The same, failing the test where it is refused.
  Decision Must(CommandBody body, const std::string& request_id = "");

  // What the operator was told so far.
  std::string told() const;
  // Waits until `holds`; false after 30 s.
  static bool Eventually(const std::function<bool()>& holds);

 private:
  mutable Mutex mutex_;
  std::string told_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Ledger> ledger_;
  std::atomic<bool> ending_{false};
  std::vector<std::thread> loops_;
};

LedgerOptions OptionsFor(const std::string& url);

// The reason that it was refused with; the name of its status code where it has none, such as "OK".
std::string ReasonOf(const Decision& decision);

// Commands in one line.
Command WithId(CommandBody body, const std::string& request_id);
ProviderId ProviderNumber(int number);
ConsumerId ConsumerNumber(int number);
CommandBody NewProvider(int number);
// Inventories of VCPU and MEMORY_MB; `generation` is the provider's.
CommandBody Offer(int provider, Generation generation, Amount vcpu, Amount memory_mb);
// `consumer` takes so much of VCPU; for a consumer that holds nothing yet unless it has a
// generation.
CommandBody Claim(int consumer, std::vector<int> providers, int32_t vcpu,
                  std::optional<Generation> generation = std::nullopt);
CommandBody Release(int consumer, Generation generation);
// Makes providers 1..count with these inventories; the classes too.
void MakeProviders(LedgerRunner& runner, int count, Amount vcpu, Amount memory_mb);

// Units of its first class in use; 0 where it offers nothing, -1 where there is no such provider.
Amount UsedOf(const State& state, int provider);

// Fails the test where two states differ in anything that tables hold.
void ExpectEqualStates(const State& a, const State& b);
// Fails the test where the self-check finds anything, or cannot be done.
void ExpectCleanSelfCheck(LedgerRunner& runner, const std::string& url);

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_LEDGER_RUNNER_H_
