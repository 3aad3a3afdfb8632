#include "formats/script_files.h"

#include "container/zip_builder.h"
#include "container/zip_reader.h"
#include "container/zip_writer.h"

namespace ckpt::script_testing {

py::Code object(const std::string& module, const std::string& name, const py::Pairs& attributes) {
  constexpr const char* new_object = ")\x81";
  return py::build(py::global(module, name) + new_object, py::dict(attributes));
}

std::string class_code(const std::string& name, const std::string& parameters, const std::string& buffers,
                       const std::string& more) {
  return "class " + name + "(Module):\n  __parameters__ = [" + parameters + "]\n  __buffers__ = [" + buffers + "]\n" +
         more;
}

Member text(const std::string& name, const std::string& text) { return {name, io_testing::bytes_of(text)}; }

Bytes bytes_of(const ScriptFile& file) {
  torch_testing::ZipFile zip{.object = file.module, .data = file.data};
  zip.more = {text("code/__torch__.py", file.code), text("constants.pkl", py::pickle(py::tuple(file.constants)))};
  zip.more.insert(zip.more.end(), file.more.begin(), file.more.end());
  return bytes_of(zip);
}

Bytes bytes_of(const ModelFile& file) {
  io_testing::MemorySink sink;
  ZipWriter zip(sink);
  const auto add = [&](const Member& member) { zip.add("net/" + member.name, member.bytes); };
  add(text("version", "1\n"));
  add(text("attributes.pkl", py::pickle(file.attributes)));
  add({"tensors/0", torch_testing::floats({0, 1, 2, 3})});
  for (const Member& member : file.more) add(member);
  add(text("model.json", file.model));
  zip.finish();
  return sink.bytes();
}

std::string content(const Bytes& archive, const std::string& member) {
  const ZipReader zip = ZipReader::open(torch_testing::source_of(archive));
  const ZipMember* const found = zip.find(member);
  return found == nullptr ? "missing" : zip_testing::text_of(*zip.read(*found));
}

}  // namespace ckpt::script_testing
