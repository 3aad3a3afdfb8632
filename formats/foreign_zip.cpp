#include "foreign_zip.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/error.h"
#include "container/quoted_name.h"
#include "container/zip_kind.h"
#include "suffix.h"

namespace ckpt {
namespace {

struct Mark {
  std::string_view part;  ///< a member's name holds it, with a slash put before the name
  std::string_view what;
  std::string_view hint;
};

// A table: members by which archives are told that people take for checkpoints; the first that is there decides.
constexpr Mark marks[] = {
    {"/data/aotinductor/", "a model that AOTInductor compiled (.pt2)",
     "in Python: torch._inductor.aoti_load_package(path)"},
    {"/archive_format", "a program of torch.export (.pt2)",
     "in Python: torch.save(torch.export.load(path).state_dict, \"weights.pt\")"},
    {"/serialized_exported_program.json", "a program of torch.export (.pt2)",
     "in Python: torch.save(torch.export.load(path).state_dict, \"weights.pt\")"},
    {"/.data/extern_modules", "an archive of torch.package",
     "in Python: torch.package.PackageImporter(path), and torch.save of the state dict of what it loads"},
    {"/model.weights.h5", "a Keras 3 model", "in Python: keras.saving.load_model(path)"},
    {"/MAR-INF/MANIFEST.json", "a model archive of TorchServe", "unzip FILE, then give ckpt the model that was inside"},
    {"/Data/com.apple.CoreML/", "a Core ML package", "in Python: coremltools.models.MLModel(path)"},
    {"/saved_model.pb", "a TensorFlow SavedModel", "unzip FILE; in Python: tf.saved_model.load(folder)"},
    {"/[Content_Types].xml", "an Office document", "the program that wrote it"},
    {"/AndroidManifest.xml", "an Android package", "unzip FILE shows what is inside"},
    {"/META-INF/MANIFEST.MF", "a Java archive", "unzip FILE shows what is inside"},
    {".dist-info/RECORD", "a Python wheel", "pip install FILE, if you trust it"},
};

constexpr std::string_view model_suffixes[] = {".pt",  ".pth", ".ckpt",        ".bin",  ".th",   ".jit",
                                               ".ptl", ".gz",  ".safetensors", ".gguf", ".onnx", ".tar",
                                               ".npz", ".pkl", ".h5",          ".zip"};

}  // namespace

std::pair<std::string, std::string> foreign_zip(const ByteSource& source) {
  const std::vector<std::string> names = zip_names(source).value_or(std::vector<std::string>());
  for (const Mark& mark : marks)
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return ("/" + name).find(mark.part) != std::string::npos; }))
      return {"this is " + std::string(mark.what), std::string(mark.hint)};
  for (const std::string& name : names)
    if (!suffix_among(name, model_suffixes).empty())
      return {"this is a zip archive around " + quoted_name(name),
              "unzip " + shell_word(source.name()) + ", then give ckpt what was inside"};
  return {names.empty() ? "this is an empty zip archive" : "this is a zip archive without a checkpoint",
          "unzip -l " + shell_word(source.name()) + " shows what it holds"};
}

}  // namespace ckpt
