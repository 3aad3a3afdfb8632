#include "model/raise_protocol.h"

#include <tuple>

#include "model/python_names.h"

namespace ckpt {
namespace {

/// The first protocol whose names are Python 3's.
constexpr int of_python3 = 3;

}  // namespace

void raise_protocol(ValueGraph& values, int from, int to, ValueId first) {
  if (from >= of_python3 || to < of_python3) return;
  for (ValueId id = first; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::global) continue;
    const auto [module, name] = to_python3(values.module(id), values.name(id));
    if (module != values.module(id) || name != values.name(id)) values.rename_global(id, module, name);
  }
}

void raise_protocol(GlobalUse& global, int from, int to) {
  if (from < of_python3 && to >= of_python3)
    std::tie(global.module, global.name) = to_python3(global.module, global.name);
}

}  // namespace ckpt
