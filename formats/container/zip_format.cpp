#include "container/zip_format.h"

#include <utility>

namespace ckpt::zip {

Error corrupt(std::string found, std::uint64_t at) { return Error(ErrorCode::corrupt, std::move(found)).at(at); }

}  // namespace ckpt::zip
