#include <memory>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "devices/machine.h"

namespace ckpt::tools {
namespace {

using eval::Gpu;
using eval::Machine;
using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(valid_utf8(text)); }

Json version_or_null(const std::optional<int>& version) {
  return version ? Json(eval::cuda_version_text(*version)) : Json(nullptr);
}

std::string capability(const Gpu& gpu) { return std::to_string(gpu.major) + "." + std::to_string(gpu.minor); }

std::string devices_json(const Machine& machine) {
  Json gpus = Json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back({{"logical", gpu.logical},
                    {"physical", or_null(gpu.physical)},
                    {"name", valid_utf8(gpu.name)},
                    {"compute_capability", capability(gpu)},
                    {"supported", eval::is_supported(gpu)},
                    {"sms", gpu.multiprocessors},
                    {"total", gpu.total_bytes},
                    {"free", or_null(gpu.free_bytes)},
                    {"pci", text_or_null(gpu.pci_id)},
                    {"uuid", text_or_null(gpu.uuid)}});
  }
  const bool none = machine.gpus.empty();
  const Json out = {{"gpus", std::move(gpus)},
                    {"by_free_memory", eval::by_free_memory(machine)},
                    {"installed", or_null(machine.installed)},
                    {"driver", text_or_null(machine.driver_version)},
                    {"cuda", version_or_null(machine.cuda_version)},
                    {"runtime", version_or_null(machine.runtime_version)},
                    {"cuda_visible_devices", machine.visible ? Json(valid_utf8(*machine.visible)) : Json(nullptr)},
                    {"lacking", none ? Json(eval::lacking_name(machine.lacking)) : Json(nullptr)},
                    {"reason", text_or_null(machine.why_none)},
                    {"hint", text_or_null(machine.remedy)},
                    {"remark", text_or_null(machine.remark)}};
  return visible_json(out.dump()) + "\n";
}

/// "driver 580.65.06 for CUDA 13.0; CUDA runtime 13.0; CUDA_VISIBLE_DEVICES=2,0"
std::string surroundings(const Machine& machine) {
  std::string out = "driver";
  if (!machine.driver_version.empty()) out += " " + printable(machine.driver_version);
  if (machine.cuda_version) out += " for CUDA " + eval::cuda_version_text(*machine.cuda_version);
  out += machine.runtime_version ? "; CUDA runtime " + eval::cuda_version_text(*machine.runtime_version)
                                 : "; no CUDA runtime found";
  return out + (machine.visible ? "; CUDA_VISIBLE_DEVICES='" + printable(*machine.visible) + "'"
                                : "; CUDA_VISIBLE_DEVICES is not set");
}

void print_table(const Machine& machine) {
  Table table({"device", "physical", "PCI", "capability", "SMs", "memory", "free", "name"}, Table::Last::left);
  for (const Gpu& gpu : machine.gpus) {
    table.add({"cuda:" + std::to_string(gpu.logical), gpu.physical ? std::to_string(*gpu.physical) : "?",
               gpu.pci_id.empty() ? "?" : printable(gpu.pci_id),
               capability(gpu) + (eval::is_supported(gpu) ? "" : " (too old)"), std::to_string(gpu.multiprocessors),
               size_text(gpu.total_bytes), gpu.free_bytes ? size_text(*gpu.free_bytes) : "?", printable(gpu.name)});
  }
  table.print(Colours());
}

void print_devices(const Machine& machine, bool quiet) {
  if (machine.gpus.empty()) {
    print("no GPU: " + printable(machine.why_none) + "\n");
    if (!quiet && !machine.remedy.empty()) print_hint(machine.remedy);
    return;
  }
  print_table(machine);
  if (quiet) return;
  print("\n" + surroundings(machine) + "\n");
  if (machine.gpus.size() > 1) {
    std::string order;
    for (const int i : eval::by_free_memory(machine))
      order += (order.empty() ? "" : ", ") + std::string("cuda:") + std::to_string(i);
    print("most free memory first: " + order + "\n");
  }
  if (!machine.remark.empty()) print_note(machine.remark);
}

Runner define(Arguments& arguments) {
  const auto json = std::make_shared<bool>(false);
  arguments.flag("--json", *json, "one JSON object, on one line");
  return [json](bool quiet) {
    const Machine machine = eval::this_machine();
    *json ? print(devices_json(machine)) : print_devices(machine, quiet);
    return int{exit_done};
  };
}

}  // namespace

extern const Command devices_command;
const Command devices_command{
    "devices",
    "[options]",
    "the GPUs of this machine, or why there is none",
    "Lists the GPUs that CUDA shows to a program started here: under which number, what they are, how\n"
    "much of their memory is free. Where there is none, one line says whether the driver is lacking, a\n"
    "part of it, or CUDA_VISIBLE_DEVICES hides them; that is exit status 0 too.\n",
    "ckpt devices",
    "ckpt devices --json",
    define,
    false,
};

}  // namespace ckpt::tools
