#include "ckpt/error.h"
#include "datasets/dataset.h"
#include "datasets/find.h"
#include "datasets/idx.h"
#include "datasets/pictures.h"
#include "datasets/tensors.h"

namespace ckpt::eval {

std::unique_ptr<Dataset> open_dataset(const DataRequest& request) {
  if (request.split != "testing" && request.split != "training" && request.split != "validating") {
    throw Error(ErrorCode::invalid_argument, "--split " + request.split).expected("testing, training or validating");
  }
  const FoundData found = find_data(request);
  switch (found.kind) {
    case FoundData::Kind::idx:
      return open_idx(found.path);
    case FoundData::Kind::pictures:
      return open_pictures(found.path, found.files);
    case FoundData::Kind::tensors:
      break;
  }
  return open_tensors(found.path, found.files, request.split);
}

}  // namespace ckpt::eval
