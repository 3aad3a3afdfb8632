#include "report/files.h"

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::eval {

std::string read_text(const std::string& file) {
  try {
    return read_text(*open_file(file));
  } catch (Error& error) {
    throw error.in(file);
  }
}

std::string read_text(const ByteSource& source) {
  const auto bytes = read_all(source, limits::evaluation_bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ckpt::eval
