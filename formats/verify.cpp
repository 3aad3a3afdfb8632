#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "format.h"
#include "opened.h"

namespace ckpt {

std::vector<Finding> verify(const ByteSourcePtr& source) {
  const Opened opened = open_layers(source, gunzip);
  const ByteSource& whole = opened.outermost();
  std::vector<Finding> findings;
  ReadContext context = ReadContext::of(*source);
  context.findings = &findings;
  try {
    // Where gzip itself is damaged this throws what is wrong with it: a fault of a file that was recognised.
    const Checkpoint checkpoint = read_opened(opened, context);
    static_cast<void>(opened.bytes->size());
    static_cast<void>(whole.size());  // a compressed stream is read to its end and its checksum compared
    for (const std::string& warning : checkpoint.warnings) context.remark(warning);
    context.remark_dangers(checkpoint.globals);
    static_cast<void>(tensor_names(checkpoint));
    check_gzip(opened, context);
  } catch (const Error& error) {
    // What keeps a file from being recognised at all is the caller's to hear; every other fault is a finding.
    if (error.code() == ErrorCode::unsupported || is_of_the_machine(error)) throw;
    context.report(error, "");
  }
  if (opened.gzip_layers() > 0) {
    if (const auto trailing = gzip_trailing_bytes(whole); trailing > 0)
      context.remark(std::to_string(trailing) + " bytes follow the gzip stream and belong to nothing");
  } else if (opened.format != nullptr && !opened.format->has_checksums) {
    context.remark("no checksum covers the tensors' bytes (" + std::string(opened.format->name) +
                   " has none): ckpt convert IN OUT --format torch" +
                   (opened.format->write != nullptr ? ", or --gzip," : "") + " adds them");
  }
  return findings;
}

}  // namespace ckpt
