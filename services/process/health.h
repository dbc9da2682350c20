// Health: the service grpc.health.v1, answered from memory at once, even if all workers are busy.
//
// It replaces gRPC's built-in health service, which reflection cannot describe and whose open Watch
// calls delay a graceful stop. Owns the statuses. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_HEALTH_H_
#define BERTH_SERVICES_PROCESS_HEALTH_H_

#include <memory>
#include <string>

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::services {

class Health {
 public:
  Health();
  ~Health();

  // Sets the status of `service`. A service is unknown until its status is first set. The name ""
  // means the whole process.
  void Set(const std::string& service, bool serving);
  // Makes every status NOT_SERVING for good; later calls of Set have no effect. Open Watch calls
  // get this status and then end. Called when the process stops.
  void Stop();

  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_HEALTH_H_
