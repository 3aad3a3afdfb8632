#include "torch_legacy/parts.h"

#include <memory>
#include <span>
#include <utility>

#include "ckpt/error.h"
#include "pickle/machine.h"
#include "torch_legacy/torch_legacy.h"

namespace ckpt::torch {
namespace {

/// Reads one of the small pickles around the object; its names count as the file's.
pickle::Program read_small(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, ValueGraph& values,
                           std::vector<GlobalUse>& globals) {
  pickle::Program program = pickle::run(source, offset, values, cap);
  for (GlobalUse& global : program.globals) globals.push_back(std::move(global));
  return program;
}

}  // namespace

std::uint64_t read_header(const ByteSource& source, std::uint64_t cap, Checkpoint& checkpoint,
                          std::vector<GlobalUse>& globals) {
  ValueGraph values;
  const auto magic = read_small(source, 0, cap, values, globals);
  const auto version = read_small(source, magic.end, cap, values, globals);
  if (values.kind(version.root) != ValueKind::integer || values.integer(version.root) != legacy_version)
    throw Error(ErrorCode::unsupported, "the file says another protocol version")
        .expected("1001")
        .at(magic.end)
        .in(source.name());
  const auto system = read_small(source, version.end, cap, values, globals);
  if (values.kind(system.root) != ValueKind::dict)
    throw Error(ErrorCode::corrupt, "sys_info is no dict").expected("a dict").at(version.end).in(source.name());
  auto details = std::make_shared<LegacyDetails>();
  details->header.resize(system.end);
  source.read_exactly(0, details->header);
  checkpoint.details = std::move(details);
  return system.end;
}

std::vector<std::string> read_keys(const ByteSource& source, std::uint64_t& offset, std::uint64_t cap,
                                   std::vector<GlobalUse>& globals) {
  ValueGraph values;
  const auto program = read_small(source, offset, cap, values, globals);
  const auto fail = [&] {
    throw Error(ErrorCode::corrupt, "the object is not followed by the list of storage keys")
        .expected("a list of strings")
        .at(offset)
        .in(source.name());
  };
  if (values.kind(program.root) != ValueKind::list) fail();
  std::vector<std::string> keys;
  const auto add = [&](std::span<const ValueId> items) {
    for (const ValueId item : items) {
      if (values.kind(item) == ValueKind::integer)
        keys.push_back(std::to_string(values.integer(item)));
      else if (values.is_string(item))
        keys.emplace_back(values.text(item));
      else
        fail();
    }
  };
  add(values.items(program.root));
  for (auto handle = values.first_effect(program.root); handle != 0; handle = values.effect(handle).next)
    add(values.items(values.effect(handle)));
  offset = program.end;
  return keys;
}

}  // namespace ckpt::torch
