#include "nccl.h"

#include <ckpt/error.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <string>

namespace training {
namespace {

// Of nccl.h, which has never changed these.
struct UniqueId {
  char internal[128];
};
constexpr int nccl_float32 = 7, nccl_sum = 0;
using Stream = void*;  // cudaStream_t; PyTorch computes on the default one, which is null
using GetUniqueId = int(UniqueId*);
using InitRank = int(void** communicator, int ranks, UniqueId id, int rank);
using AllReduce = int(const void* from, void* to, std::size_t count, int type, int operation, void* communicator,
                      Stream stream);
using Destroy = int(void* communicator);
using ErrorText = const char*(int);

template <class Function>
Function* function(const char* name) {
  // libtorch_cuda.so was loaded with RTLD_GLOBAL, and what it is linked to with it.
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr)
    throw ckpt::Error(ckpt::ErrorCode::unavailable, std::string("this libtorch brings no NCCL: ") + name)
        .hint("--device cpu trains on the CPU; pip install torch==" TORCH_VERSION
              ", with all that it depends on, brings NCCL");
  return reinterpret_cast<Function*>(found);
}

void check(int status, const char* doing) {
  if (status != 0)
    throw ckpt::Error(ckpt::ErrorCode::unavailable,
                      std::string(doing) + ": " + function<ErrorText>("ncclGetErrorString")(status))
        .hint("NCCL_DEBUG=INFO makes NCCL say why");
}

}  // namespace

std::vector<std::uint8_t> Nccl::new_id() {
  UniqueId id{};
  check(function<GetUniqueId>("ncclGetUniqueId")(&id), "ncclGetUniqueId");
  return {std::begin(id.internal), std::end(id.internal)};
}

Nccl::Nccl(int rank, int size, const std::vector<std::uint8_t>& id) {
  UniqueId same{};
  if (id.size() != sizeof(same.internal))
    throw ckpt::Error(ckpt::ErrorCode::unavailable, "rank 0 sent no id of NCCL's");
  std::copy(id.begin(), id.end(), std::begin(same.internal));
  check(function<InitRank>("ncclCommInitRank")(&communicator_, size, same, rank), "ncclCommInitRank");
}

Nccl::~Nccl() {
  if (communicator_ != nullptr) function<Destroy>("ncclCommDestroy")(communicator_);
}

void Nccl::sum(at::Tensor& values) {
  const auto count = static_cast<std::size_t>(values.numel());
  check(function<AllReduce>("ncclAllReduce")(values.const_data_ptr(), values.mutable_data_ptr(), count, nccl_float32,
                                             nccl_sum, communicator_, nullptr),
        "ncclAllReduce");
}

}  // namespace training
