#include "torchscript/details.h"

#include "ckpt/device.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "torchscript/code.h"
#include "torchscript/layout.h"
#include "torchscript/state_walk.h"

namespace ckpt::torchscript {

std::map<std::string, ByteSourcePtr> ScriptDetails::code() const {
  std::map<std::string, ByteSourcePtr> files;
  for (const ZipMember& member : zip->members()) {
    const std::string_view name = std::string_view(member.name).substr(root.size() + 1);
    if (name.starts_with(code_folder) && name.ends_with(".py")) files.emplace(name, zip->read(member));
  }
  return files;
}

template <class Use>
void ScriptDetails::each_code(Use&& use) const {
  for (const auto& [name, file] : code()) {
    const auto bytes = read_all(*file, limits::zip_small_member);
    use(name, as_text(bytes));
  }
}

StateEntries ScriptDetails::state_entries(const Checkpoint& checkpoint) const {
  if (entries) return *entries;
  const ValueGraph& values = checkpoint.values;
  ScriptClasses classes;
  for (ValueId id = 0; id < values.size(); ++id)
    if (values.kind(id) == ValueKind::global)
      classes.try_emplace(std::string(values.module(id)) + "." + std::string(values.name(id)));
  std::uint64_t names = limits::tensor_names + limits::names_a_tensor * checkpoint.tensors.size();
  each_code([&](std::string_view name, std::string_view code) { read_classes(name, code, classes, names); });
  return walk_state(checkpoint, object, classes);
}

std::vector<std::string> ScriptDetails::out_of_reach(const DeviceMap& map) const {
  constexpr std::size_t most = 20;
  std::vector<std::string> told;
  std::size_t untold = 0;
  each_code([&](std::string_view name, std::string_view code) {
    std::string devices;
    for (const std::string& device : named_devices(code))
      if (map.map(device) != device) devices += (devices.empty() ? "" : ", ") + device;
    if (devices.empty()) return;
    if (told.size() == most)
      ++untold;
    else
      told.push_back("member '" + root + "/" + std::string(name) + "' is code that names the device " + devices +
                     ": it stays, as with map_location, and what it makes goes there");
  });
  if (untold > 0) told.push_back("… and " + std::to_string(untold) + " more members of code name devices");
  return told;
}

}  // namespace ckpt::torchscript
