#include "console/text_file.h"

#include <span>

#include "ckpt/file_sink.h"
#include "console/messages.h"

namespace ckpt::tools {

void write_text_file(const std::string& path, std::string_view text) {
  FileSink sink(path);
  sink.write(std::as_bytes(std::span(text)));
  sink.commit();
  note_removed(sink.removed());
}

void note_removed(const std::vector<std::string>& names) {
  for (const std::string& name : names) print_note(say_removed(name));
}

}  // namespace ckpt::tools
