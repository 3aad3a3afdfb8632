#include "plain_pickle/plain_pickle.h"

namespace ckpt::plain_pickle {

const Format format{
    .name = "pickle",
    .description = "pickle.dump: tensors of torch and arrays of numpy, protocols 0 to 5",
    .suffixes = {},
    .loader = "pickle.load",
    .has_checksums = false,
    .probe = probe,
    .read = read,
    .write = nullptr,
};

}  // namespace ckpt::plain_pickle
