#include <vector>

#include "ckpt/error.h"
#include "container/tar_reader.h"
#include "io/bytes.h"
#include "pickle/machine.h"
#include "pickle/name_lists.h"
#include "pickle/scanner.h"
#include "plain_pickle/plain_pickle.h"

namespace ckpt::plain_pickle {
namespace {

/// Enough of a file to tell text from a pickle of protocol 0.
constexpr std::size_t looked_at = 16 * limits::kib;
/// A program that is cut off must have made so many values for it to be no accident.
constexpr std::size_t least_values = 4;

/// PROTO, of a protocol that there is, and an instruction.
bool is_announced(std::span<const std::byte> head) {
  if (head.size() < 3 || head[0] != std::byte{pickle::PROTO} || head[1] > std::byte{5}) return false;
  return !pickle::opcode_table[std::to_integer<std::uint8_t>(head[2])].name.empty();
}

/// Whether each line that would be a name is spelt like one: "c" and two lines of prose are an instruction, too.
bool names_are_names(const ByteSource& head) {
  pickle::Scanner scanner(head, 0);
  try {
    for (pickle::Op op = scanner.next(); op.code != pickle::STOP; op = scanner.next()) {
      const bool named = op.code == pickle::GLOBAL || op.code == pickle::INST;
      if (named && (!is_dotted_name(op.text) || !is_dotted_name(op.text2))) return false;
    }
  } catch (const Error& error) {
    return error.code() == ErrorCode::truncated;
  }
  return true;
}

/// Whether it runs to a STOP, or to where it was cut.
bool runs(const ByteSource& head, bool is_cut) {
  ValueGraph values;
  try {
    pickle::run(head, 0, values);
    return true;
  } catch (const Error& error) {
    return error.code() == ErrorCode::truncated && is_cut && values.size() >= least_values;
  }
}

}  // namespace

bool probe(const ByteSource& source) {
  std::vector<std::byte> bytes(looked_at);
  bytes.resize(source.read_at(0, bytes));
  // A tar's first name may be a program. To PyTorch such a file is a tar; to us it is none, and refused.
  if (is_tar(source)) return false;
  if (is_announced(bytes)) return true;
  if (bytes.empty() || bytes[0] == std::byte{pickle::PROTO}) return false;
  const bool is_cut = bytes.size() == looked_at;
  const ByteSourcePtr head = memory_source(std::move(bytes), source.name());
  return names_are_names(*head) && runs(*head, is_cut);
}

}  // namespace ckpt::plain_pickle
