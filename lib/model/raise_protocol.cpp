#include "model/raise_protocol.h"

#include "model/python_names.h"

namespace ckpt {

void raise_protocol(ValueGraph& values, int from, int to, ValueId first) {
  constexpr int python3 = 3;
  if (from >= python3 || to < python3) return;
  for (ValueId id = first; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::global) continue;
    const auto [module, name] = to_python3(values.module(id), values.name(id));
    if (module != values.module(id) || name != values.name(id)) values.rename_global(id, module, name);
  }
}

}  // namespace ckpt
