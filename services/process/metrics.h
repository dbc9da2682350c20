// Metrics: the measurements of this process for Prometheus, and the HTTP endpoint that serves them.
//
// Names begin with the prefix of the process, for example "placement_". Calls are counted when they
// end. All other values are computed by sources (see AddSource) whenever somebody reads the
// endpoint. Ids are never labels, because there are too many of them. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_METRICS_H_
#define BERTH_SERVICES_PROCESS_METRICS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace berth::services {

// Collects the values for one scrape. Not thread-safe.
class Samples {
 public:
  virtual ~Samples() = default;
  using Labels = std::map<std::string, std::string>;
  // Adds a value. `name` is the name without the prefix of the process; the name of a counter ends
  // in _total.
  virtual void Gauge(const std::string& name, const std::string& help, double value,
                     const Labels& labels = {}) = 0;
  virtual void Counter(const std::string& name, const std::string& help, double value,
                       const Labels& labels = {}) = 0;
  // Adds a histogram. `counts` has one number for each of `bounds`, of values at most as large as
  // this bound and larger than the bound before it, and one for larger values.
  virtual void Histogram(const std::string& name, const std::string& help,
                         absl::Span<const double> bounds, absl::Span<const uint64_t> counts,
                         double sum, const Labels& labels) = 0;
};

class Metrics {
 public:
  explicit Metrics(const std::string& prefix);
  ~Metrics();

  // The calls of one RPC method: <prefix>_grpc_requests_total{method,code} and
  // <prefix>_grpc_request_duration_seconds{method}.
  class Method {
   public:
    virtual ~Method() = default;
    // Counts a call that took `duration` and ended with `code`, a grpc::StatusCode.
    virtual void Record(int code, absl::Duration duration) = 0;
  };
  // Returns the Method with this name, always the same one for the same name. The Method lives as
  // long as the Metrics.
  Method* ForMethod(const std::string& full_name);

  // Calls `source` at every reading. `source` must stay valid as long as the Metrics.
  void AddSource(std::function<void(Samples*)> source);

  // Serves http://`address`/metrics. `address` is HOST:PORT; port 0 takes a free port. Returns the
  // address with the port that is used. Fails with kUnavailable if the address cannot be used; the
  // text is that of WhyNotListen (server.h).
  absl::StatusOr<std::string> Listen(const std::string& address);

  // Ends the endpoint: after the return no reading runs, and none begins.
  void StopListening();

  // All values in the text format of Prometheus.
  std::string Text() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_METRICS_H_
