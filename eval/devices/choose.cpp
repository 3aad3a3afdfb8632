#include "devices/choose.h"

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

using Request = DeviceRequest::Kind;
using Kind = DeviceChoice::Kind;

std::string cuda_name(int logical) { return "cuda:" + std::to_string(logical); }

/// "2 GPUs: cuda:0 (NVIDIA L4), cuda:1 (NVIDIA L4)"
std::string list_of(const std::vector<Gpu>& gpus) {
  std::string out = gpus.size() == 1 ? "1 GPU:" : std::to_string(gpus.size()) + " GPUs:";
  for (const Gpu& gpu : gpus)
    out += (&gpu == &gpus.front() ? " " : ", ") + cuda_name(gpu.logical) + " (" + gpu.name + ")";
  return out;
}

std::string too_old(const Gpu& gpu) {
  return cuda_name(gpu.logical) + " (" + gpu.name + ") has compute capability " + std::to_string(gpu.major) + "." +
         std::to_string(gpu.minor) + ", and 7.5 is the least that is served";
}

Error unavailable(const DeviceRequest& request, const std::string& why, const std::string& hint) {
  return Error(ErrorCode::unavailable, "--device " + request.word + ": " + why).hint(hint);
}

/// Why no GPU of this machine can be used at all; empty where one may.
std::string why_no_gpu(const Machine& machine, const Program& program) {
  if (machine.gpus.empty()) return "no GPU: " + machine.why_none;
  if (!program.lacks_cuda.empty()) return "this program cannot use a GPU: " + program.lacks_cuda;
  return {};
}

/// The supported ones, most free memory first; the others are given to `notes`.
std::vector<int> supported(const Machine& machine, std::vector<std::string>& notes) {
  std::vector<int> out;
  for (const int i : by_free_memory(machine)) {
    const Gpu& gpu = machine.gpus[i];
    is_supported(gpu) ? out.push_back(gpu.logical) : notes.push_back(too_old(gpu));
  }
  return out;
}

/// The GPU of this rank, or none with the reason in `notes`: where there are fewer GPUs than ranks, two would share
/// one.
DeviceChoice gpu_of_rank(const Machine& machine, int rank) {
  DeviceChoice choice{.kind = Kind::cuda};
  if (static_cast<std::size_t>(rank) >= machine.gpus.size()) {
    choice.notes.push_back("LOCAL_RANK is " + std::to_string(rank) + ", and there is no " + cuda_name(rank) + ": " +
                           list_of(machine.gpus) + " (--nproc-per-node " + std::to_string(machine.gpus.size()) +
                           " gives each rank its own)");
  } else if (const Gpu& gpu = machine.gpus[rank]; is_supported(gpu)) {
    choice.gpus.push_back(gpu.logical);
  } else {
    choice.notes.push_back(too_old(gpu));
  }
  return choice;
}

/// For `auto` and `cuda`: one GPU, or none with the reasons in `notes`.
DeviceChoice one_gpu(const Machine& machine, const Program& program) {
  if (program.local_rank) return gpu_of_rank(machine, *program.local_rank);
  DeviceChoice choice{.kind = Kind::cuda};
  choice.gpus = supported(machine, choice.notes);
  if (choice.gpus.size() > 1) {
    const bool known = machine.gpus[choice.gpus.front()].free_bytes.has_value();
    choice.notes.push_back(cuda_name(choice.gpus.front()) + " of " + std::to_string(machine.gpus.size()) +
                           " GPUs: " + (known ? "it has most free memory" : "the first, as free memory is not known"));
    choice.gpus.resize(1);
  }
  return choice;
}

DeviceChoice automatic(const Machine& machine, const Program& program) {
  DeviceChoice choice;
  if (const std::string why = why_no_gpu(machine, program); why.empty()) {
    choice = one_gpu(machine, program);
    if (!choice.gpus.empty()) return choice;
  } else if (machine.lacking != Lacking::driver) {  // a machine without any needs no explanation
    choice.notes.push_back(why);
  }
  choice.kind = program.has_mps ? Kind::mps : Kind::cpu;
  return choice;
}

DeviceChoice named_gpus(const DeviceRequest& request, const Machine& machine) {
  for (const int index : request.indices) {
    if (static_cast<std::size_t>(index) >= machine.gpus.size())
      throw unavailable(request, "there is no " + cuda_name(index) + " here, but " + list_of(machine.gpus),
                        "ckpt devices lists them; --device auto takes the best that is there");
    if (!is_supported(machine.gpus[index])) throw unavailable(request, too_old(machine.gpus[index]), "--device cpu");
  }
  return {.kind = Kind::cuda, .gpus = request.indices};
}

}  // namespace

DeviceChoice choose(const DeviceRequest& request, const Machine& machine, const Program& program) {
  if (request.kind == Request::automatic) return automatic(machine, program);
  if (request.kind == Request::cpu) return {.kind = Kind::cpu};
  if (request.kind == Request::mps) {
    if (program.has_mps) return {.kind = Kind::mps};
    throw unavailable(request, "that is the GPU of Apple's machines, by Metal, and there is none here",
                      "--device auto");
  }
  if (const std::string why = why_no_gpu(machine, program); !why.empty()) {
    const std::string& remedy = machine.gpus.empty() ? machine.remedy : program.cuda_remedy;
    throw unavailable(request, why, "--device cpu" + (remedy.empty() ? "" : "; or: " + remedy));
  }
  if (request.kind == Request::gpus) return named_gpus(request, machine);

  DeviceChoice choice;
  if (request.kind == Request::cuda) {
    choice = one_gpu(machine, program);
  } else {
    choice.kind = Kind::cuda;
    choice.gpus = supported(machine, choice.notes);
  }
  if (choice.gpus.empty()) throw unavailable(request, choice.notes.front(), "--device cpu");
  return choice;
}

}  // namespace ckpt::eval
