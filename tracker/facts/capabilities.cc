#include "tracker/facts/capabilities.h"

#include <algorithm>
#include <iterator>
#include <pugixml.hpp>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

constexpr int kThreadsMax = 256;  // of one core; a larger set of siblings cannot be meant

constexpr absl::string_view kArchs[] = {
    "aarch64", "alpha",   "armv6l",      "armv7l",   "armv7b",     "cris",         "i686",
    "ia64",    "lm32",    "loongarch64", "m68k",     "microblaze", "microblazeel", "mips",
    "mipsel",  "mips64",  "mips64el",    "openrisc", "parisc",     "parisc64",     "ppc",
    "ppcle",   "ppc64",   "ppc64le",     "ppcemb",   "riscv32",    "riscv64",      "s390",
    "s390x",   "sh4",     "sh4eb",       "sparc",    "sparc64",    "unicore32",    "x86_64",
    "xtensa",  "xtensaeb"};

std::optional<std::string> OptionalText(const pugi::xml_node& node) {
  if (!node) return std::nullopt;
  return std::string(node.text().as_string());
}

std::optional<int> OptionalInt(const pugi::xml_attribute& attribute) {
  if (!attribute) return std::nullopt;
  return attribute.as_int();
}

std::set<std::string> FeatureNames(const pugi::xml_node& cpu) {
  std::set<std::string> names;
  for (const pugi::xml_node feature : cpu.children("feature")) {
    const absl::string_view policy = feature.attribute("policy").as_string();
    if (policy == "disable" || policy == "forbid") continue;
    names.insert(feature.attribute("name").as_string());
  }
  return names;
}

CpuDescription ReadCpu(const pugi::xml_node& cpu) {
  CpuDescription result;
  result.arch = OptionalText(cpu.child("arch"));
  result.model = OptionalText(cpu.child("model"));
  result.vendor = OptionalText(cpu.child("vendor"));
  const pugi::xml_node topology = cpu.child("topology");
  result.sockets = OptionalInt(topology.attribute("sockets"));
  result.cores = OptionalInt(topology.attribute("cores"));
  result.threads = OptionalInt(topology.attribute("threads"));
  const pugi::xml_node bits = cpu.child("maxphysaddr");
  if (bits.attribute("mode")) result.maxphysaddr_mode = bits.attribute("mode").as_string();
  result.maxphysaddr_bits = OptionalInt(bits.attribute("bits"));
  result.features = FeatureNames(cpu);
  return result;
}

absl::StatusOr<CapabilitiesCell> ReadCell(const pugi::xml_node& node) {
  CapabilitiesCell cell;
  cell.id = node.attribute("id").as_int();
  cell.memory_kib = node.child("memory").text().as_llong();
  for (const pugi::xml_node pages : node.children("pages")) {
    cell.pages_by_size_kib[pages.attribute("size").as_llong()] = pages.text().as_llong();
  }
  for (const pugi::xml_node item : node.child("cpus").children("cpu")) {
    CellCpu cpu;
    cpu.id = item.attribute("id").as_int(-1);
    if (cpu.id < 0 || cpu.id > CpuSet::kMaxCpu) {
      return absl::InvalidArgumentError(
          absl::StrCat("NUMA cell ", cell.id, " has a CPU id that is not valid"));
    }
    cpu.socket = OptionalInt(item.attribute("socket_id"));
    absl::StatusOr<CpuSet> siblings = CpuSet::Parse(item.attribute("siblings").as_string());
    const bool is_core = siblings.ok() && siblings->Count() <= kThreadsMax;
    cpu.siblings = is_core ? *std::move(siblings) : CpuSet{cpu.id};
    cell.cpus.push_back(std::move(cpu));
  }
  return cell;
}

std::string CanonicalHypervisorType(absl::string_view type) {
  std::string name = absl::AsciiStrToLower(type);
  return name == "vz" ? "parallels" : name;
}

std::string CanonicalVmMode(absl::string_view os_type) {
  std::string name = absl::AsciiStrToLower(os_type);
  if (name == "linux" || name == "pv") return "xen";  // libvirt's names for paravirtual Xen
  return name;
}

void ReadGuest(const pugi::xml_node& guest, Capabilities* result) {
  const std::string mode = CanonicalVmMode(guest.child("os_type").text().as_string());
  const pugi::xml_node arch = guest.child("arch");
  GuestArch described;
  described.arch = arch.attribute("name").as_string();
  described.emulator = arch.child("emulator").text().as_string();
  for (const pugi::xml_node machine : arch.children("machine")) {
    if (machine.attribute("canonical")) {
      described.machine_aliases.emplace_back(machine.text().as_string());
    }
  }
  const std::optional<std::string> canonical = CanonicalArch(described.arch);
  for (const pugi::xml_node domain : arch.children("domain")) {
    described.domain_types.emplace_back(domain.attribute("type").as_string());
    SupportedInstance kind;
    kind.arch = canonical.value_or("");
    kind.hypervisor_type = CanonicalHypervisorType(described.domain_types.back());
    kind.vm_mode = mode;
    if (canonical) result->supported_instances.push_back(std::move(kind));
  }
  result->guest_archs.push_back(std::move(described));
}

absl::Status Load(absl::string_view xml, pugi::xml_document* document) {
  const pugi::xml_parse_result parsed = document->load_buffer(xml.data(), xml.size());
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not XML: ", parsed.description(), " at byte ", parsed.offset));
}

}  // namespace

absl::StatusOr<Capabilities> ParseCapabilities(absl::string_view xml) {
  pugi::xml_document document;
  BERTH_RETURN_IF_ERROR(Load(xml, &document));
  const pugi::xml_node root = document.child("capabilities");
  if (!root) return absl::InvalidArgumentError("libvirt sent no <capabilities> element");
  Capabilities result;
  const pugi::xml_node host = root.child("host");
  result.cpu = ReadCpu(host.child("cpu"));
  std::ostringstream cpu_xml;
  host.child("cpu").print(cpu_xml, "", pugi::format_raw);
  result.cpu_xml = cpu_xml.str();
  for (const pugi::xml_node node : host.child("topology").child("cells").children("cell")) {
    BERTH_ASSIGN_OR_RETURN(CapabilitiesCell cell, ReadCell(node));
    result.cells.push_back(std::move(cell));
  }
  for (const pugi::xml_node guest : root.children("guest")) ReadGuest(guest, &result);
  return result;
}

absl::StatusOr<std::set<std::string>> ParseCpuFeatures(absl::string_view cpu_xml) {
  pugi::xml_document document;
  BERTH_RETURN_IF_ERROR(Load(cpu_xml, &document));
  if (!document.child("cpu")) return absl::InvalidArgumentError("libvirt sent no <cpu> element");
  return FeatureNames(document.child("cpu"));
}

std::optional<std::string> CanonicalArch(absl::string_view arch) {
  const std::string name = absl::AsciiStrToLower(arch);
  if (name == "i386" || name == "i486" || name == "i586") return "i686";
  if (name == "amd64") return "x86_64";
  if (std::find(std::begin(kArchs), std::end(kArchs), name) == std::end(kArchs)) {
    return std::nullopt;
  }
  return name;
}

}  // namespace berth::tracker
