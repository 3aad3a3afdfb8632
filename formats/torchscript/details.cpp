#include "torchscript/details.h"

#include "ckpt/device.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "torchscript/code.h"
#include "torchscript/layout.h"
#include "torchscript/state_walk.h"

namespace ckpt::torchscript {

template <class Use>
void ScriptDetails::each_code(Use&& use) const {
  for (const ZipMember& member : zip->members()) {
    const std::string_view name = std::string_view(member.name).substr(root.size() + 1);
    if (!name.starts_with(code_folder) || !name.ends_with(".py")) continue;
    const auto bytes = read_all(*zip->read(member), limits::zip_small_member);
    use(name, as_text(bytes));
  }
}

StateEntries ScriptDetails::state_entries(const Checkpoint& checkpoint) const {
  if (entries) return *entries;
  ScriptClasses classes;
  each_code([&](std::string_view name, std::string_view code) { add_classes(name, code, classes); });
  return walk_state(checkpoint, object, classes);
}

std::vector<std::string> ScriptDetails::out_of_reach(const DeviceMap& map) const {
  std::vector<std::string> told;
  each_code([&](std::string_view name, std::string_view code) {
    std::string devices;
    for (const std::string& device : named_devices(code))
      if (map.map(device) != device) devices += (devices.empty() ? "" : ", ") + device;
    if (!devices.empty())
      told.push_back("member '" + root + "/" + std::string(name) + "' is code that names the device " + devices +
                     ": it stays, as with map_location, and what it makes goes there");
  });
  return told;
}

}  // namespace ckpt::torchscript
