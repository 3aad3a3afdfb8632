#include "report/files.h"

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::eval {

std::string read_text(const std::string& file) {
  try {
    const auto bytes = read_all(*open_file(file), limits::evaluation_bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  } catch (Error& error) {
    throw error.in(file);
  }
}

}  // namespace ckpt::eval
