#pragma once

#include <memory>

#include "runner/engine.h"
#include "runner/worker.h"

namespace ckpt::eval {

/// A worker for a device with memory of its own: bytes go up, counts stay there until the end. Also runs on the CPU,
/// for tests.
[[nodiscard]] std::unique_ptr<Worker> device_worker(const Model& model, at::Device device,
                                                    const EngineOptions& options);

}  // namespace ckpt::eval
