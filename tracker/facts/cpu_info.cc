#include "tracker/facts/cpu_info.h"

#include <nlohmann/json.hpp>

namespace berth::tracker {
namespace {

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace

std::string CpuInfoJson(const CpuDescription& cpu, int cells) {
  nlohmann::json info = {{"arch", OrNull(cpu.arch)},
                         {"model", OrNull(cpu.model)},
                         {"vendor", OrNull(cpu.vendor)},
                         {"topology",
                          {{"cells", cells == 0 ? 1 : cells},
                           {"sockets", OrNull(cpu.sockets)},
                           {"cores", OrNull(cpu.cores)},
                           {"threads", OrNull(cpu.threads)}}},
                         {"features", cpu.features}};
  if (cpu.maxphysaddr_mode || cpu.maxphysaddr_bits) {
    info["maxphysaddr"] = {{"mode", OrNull(cpu.maxphysaddr_mode)},
                           {"bits", OrNull(cpu.maxphysaddr_bits)}};
  }
  return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace berth::tracker
