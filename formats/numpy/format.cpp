#include "named_tensors/losses.h"
#include "numpy/numpy.h"

namespace ckpt::numpy {

static constexpr std::string_view npy_suffixes[] = {".npy"};
static constexpr std::string_view npz_suffixes[] = {".npz"};

const Format npy_format{
    .name = "npy",
    .description = "numpy array (numpy.save): one tensor without a name",
    .suffixes = npy_suffixes,
    .loader = "numpy.load",
    .has_checksums = false,
    .pickled = false,
    .probe = probe_npy,
    .read = read_npy,
    .end = end_of_npy,
    .write = write_npy,
    .losses = named_tensors::losses,
};

const Format npz_format{
    .name = "npz",
    .description = "numpy arrays by name, a zip archive (numpy.savez, savez_compressed)",
    .suffixes = npz_suffixes,
    .loader = "numpy.load",
    .has_checksums = true,
    .pickled = false,
    .probe = probe_npz,
    .read = read_npz,
    .write = write_npz,
    .losses = named_tensors::losses,
};

}  // namespace ckpt::numpy
