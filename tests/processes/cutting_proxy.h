// CuttingProxy: forwards between a ledger and PostgreSQL, and cuts the connection at a chosen
// moment.
//
// Owns its socket and threads. Thread-safe.
#ifndef BERTH_TESTS_PROCESSES_CUTTING_PROXY_H_
#define BERTH_TESTS_PROCESSES_CUTTING_PROXY_H_

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "placement/ground/mutex.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {

class CuttingProxy {
 public:
  // Forwards to the server of `url`. The host in `url` is the directory of the server's socket.
  explicit CuttingProxy(const std::string& url);
  ~CuttingProxy();

  // `url` with the proxy instead of the server.
  std::string Through(const std::string& url) const;

  enum class Cut {
    kNever,
    kBeforeCommit,  // the next batch is not forwarded
    kAfterCommit,   // the next batch is forwarded, its answer is not
    kLate           // the next batch is forwarded when DeliverLate is called, its answer is not
  };
  void CutNext(Cut cut) { cut_ = cut; }
  int cuts() const { return cuts_; }
  // Forwards the batch that was cut as kLate, and waits until the server has dealt with it. Returns
  // the bytes of the server's answer.
  std::string DeliverLate();
  // While held, the proxy forwards nothing in either direction, like a network that drops
  // everything.
  void Hold(bool hold) { hold_ = hold; }
  // While it does, nobody who connects hears anything.
  void HoldNew(bool hold) { hold_new_ = hold; }
  // How many are held so.
  int held() const { return held_; }
  // How often a client has sent something after the server's last answer.
  int round_trips() const { return round_trips_; }

 private:
  void Accept();
  void Serve(int client);
  // Keeps `message`, which a client has just begun to send to `server`, for DeliverLate.
  void KeepLate(int client, int server, std::string message);

  const std::string server_directory_;
  ScratchDirectory directory_;
  int listener_ = -1;
  std::atomic<Cut> cut_{Cut::kNever};
  std::atomic<int> cuts_{0};
  std::atomic<bool> hold_{false};
  std::atomic<bool> hold_new_{false};
  std::atomic<int> held_{0};
  std::atomic<int> round_trips_{0};
  std::atomic<bool> ending_{false};
  Mutex mutex_;
  int late_server_ ABSL_GUARDED_BY(mutex_) = -1;
  std::string late_message_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PROCESSES_CUTTING_PROXY_H_
