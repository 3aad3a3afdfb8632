// A table: the names that policy knows, by their Python 3 modules. A name is here because checkpoints hold it and
// because calling it with what a pickle can hand it runs nothing of the pickle's choosing: it makes a value.
#include "pickle/known_names.h"

#include <algorithm>
#include <iterator>

#include "pickle/name_lists.h"

namespace ckpt {
namespace {

struct Module {
  std::string_view name;
  std::string_view members;  ///< separated by spaces
};

// clang-format off
/// Sorted bytewise by module.
constexpr Module modules[] = {
    {"_codecs", "encode"},
    {"_io", "BytesIO"},  // of no form in call_forms.cpp: it holds bytes, and what they are, who reads them knows
    {"argparse", "Namespace"},
    {"builtins",
     "Ellipsis NotImplemented bool bytearray bytes complex dict float frozenset int list object range set "
     "slice str tuple"},
    {"collections", "Counter OrderedDict defaultdict deque"},
    {"copyreg", "__newobj__ __newobj_ex__ _reconstructor"},
    {"datetime", "date datetime time timedelta timezone tzinfo"},
    {"decimal", "Decimal"},
    {"fractions", "Fraction"},
    {"numpy",
     "bool bool_ byte bytes_ cdouble character clongdouble complex128 complex192 complex256 complex64 "
     "complexfloating csingle datetime64 double dtype flexible float128 float16 float32 float64 float96 "
     "floating generic half inexact int16 int32 int64 int8 int_ intc integer intp long longdouble longlong "
     "matrix memmap ndarray number object_ recarray record short signedinteger single str_ string_ timedelta64 ubyte "
     "uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong unicode_ unsignedinteger ushort void"},
    {"numpy._core._internal", "_convert_to_stringdtype_kwargs"},
    {"numpy._core.defchararray", "chararray"},
    {"numpy._core.memmap", "memmap"},
    {"numpy._core.multiarray", "_reconstruct dtype ndarray scalar"},
    {"numpy._core.numeric", "_frombuffer"},
    {"numpy._core.records", "recarray record"},
    {"numpy.char", "chararray"},
    {"numpy.core.defchararray", "chararray"},
    {"numpy.core.memmap", "memmap"},
    {"numpy.core.multiarray", "_reconstruct dtype ndarray scalar"},
    {"numpy.core.numeric", "_frombuffer"},
    {"numpy.core.records", "recarray record"},
    {"numpy.dtypes",
     "BoolDType ByteDType BytesDType CLongDoubleDType Complex128DType Complex64DType DateTime64DType "
     "Float16DType Float32DType Float64DType Int16DType Int32DType Int64DType Int8DType IntDType LongDType "
     "LongDoubleDType LongLongDType ObjectDType ShortDType StrDType StringDType TimeDelta64DType UByteDType "
     "UInt16DType UInt32DType UInt64DType UInt8DType UIntDType ULongDType ULongLongDType UShortDType "
     "VoidDType"},
    {"numpy.ma", "MaskedArray"},
    {"numpy.ma.core", "MaskedArray MaskedConstant _mareconstruct"},
    {"numpy.matrixlib.defmatrix", "matrix"},
    {"numpy.random", "Generator RandomState __RandomState_ctor"},
    {"numpy.random._generator", "Generator"},
    {"numpy.random._mt19937", "MT19937"},
    {"numpy.random._pcg64", "PCG64 PCG64DXSM"},
    {"numpy.random._philox", "Philox"},
    {"numpy.random._pickle", "__bit_generator_ctor __generator_ctor __randomstate_ctor"},
    {"numpy.random._sfc64", "SFC64"},
    {"numpy.random.bit_generator", "SeedSequence __pyx_unpickle_SeedSequence"},
    {"numpy.random.mtrand", "RandomState"},
    {"numpy.rec", "recarray record"},
    {"pathlib", "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"},
    {"pathlib._local", "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"},
    {"torch",
     "BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor "
     "ComplexDoubleStorage ComplexFloatStorage DoubleStorage DoubleTensor FloatStorage FloatTensor Generator "
     "HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor QInt32Storage QInt8Storage "
     "QUInt2x4Storage QUInt4x2Storage QUInt8Storage ShortStorage ShortTensor Size Tensor TypedStorage "
     "Bits16Storage Bits8Storage ComplexHalfStorage Float4_e2m1fn_x2Storage Float8_e4m3fnStorage "
     "Float8_e4m3fnuzStorage Float8_e5m2Storage Float8_e5m2fnuzStorage Float8_e8m0fnuStorage UInt16Storage "
     "UInt32Storage UInt64Storage "
     "UntypedStorage _TypedStorage _UntypedStorage _mkldnn bfloat16 bit bits16 bits1x8 bits2x4 bits4x2 bits8 "
     "bool cdouble cfloat chalf channels_last channels_last_3d complex128 complex32 complex64 "
     "contiguous_format device double dtype float float16 float32 float4_e2m1fn_x2 float64 float8_e4m3fn "
     "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu half int int1 int16 int2 int3 int32 int4 "
     "int5 int6 int64 int7 int8 jagged layout legacy_contiguous_format long memory_format per_channel_affine "
     "per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric "
     "preserve_format qint32 qint8 qscheme quint2x4 quint4x2 quint8 short sparse_bsc sparse_bsr sparse_coo "
     "sparse_csc sparse_csr strided uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 uint8"},
    {"torch._C", "Generator Size device"},
    {"torch._C._nn", "gelu"},
    {"torch._dynamo.decorators", "_DimRange"},
    {"torch._tensor", "_rebuild_from_type _rebuild_from_type_v2"},
    {"torch._utils",
     "_rebuild_device_tensor_from_cpu_tensor _rebuild_device_tensor_from_numpy _rebuild_hpu_tensor "
     "_rebuild_meta_tensor_no_storage _rebuild_mlc_tensor _rebuild_nested_tensor _rebuild_parameter "
     "_rebuild_parameter_v2 _rebuild_parameter_with_state _rebuild_qtensor _rebuild_sparse_csr_tensor "
     "_rebuild_sparse_tensor _rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_wrapper_subclass "
     "_rebuild_xla_tensor "
     "torch.channels_last torch.channels_last_3d torch.contiguous_format torch.preserve_format"},  // in protocol 4
    {"torch.amp.grad_scaler", "GradScaler OptState _refresh_per_optimizer_state"},
    {"torch.ao.quantization.qconfig", "QConfig QConfigDynamic"},
    {"torch.autograd.variable", "Variable"},
    {"torch.cuda",
     "BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor "
     "ComplexDoubleStorage ComplexFloatStorage DoubleStorage DoubleTensor FloatStorage FloatTensor "
     "HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor QInt32Storage QInt8Storage "
     "QUInt2x4Storage QUInt4x2Storage QUInt8Storage ShortStorage ShortTensor"},
    {"torch.cuda.amp.grad_scaler", "GradScaler OptState _refresh_per_optimizer_state"},
    {"torch.cuda.sparse",
     "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor "
     "LongTensor ShortTensor"},
    {"torch.distributed._mesh_layout", "_MeshLayout"},
    {"torch.distributed._shard.checkpoint.filesystem", "_StorageInfo"},
    {"torch.distributed._shard.checkpoint.metadata",
     "BytesStorageMetadata ChunkStorageMetadata Metadata MetadataIndex TensorStorageMetadata"},
    {"torch.distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING TensorProperties"},
    {"torch.distributed._tensor", "DTensor"},
    {"torch.distributed._tensor._dtensor_spec", "DTensorSpec TensorMeta"},
    {"torch.distributed._tensor.api", "DTensor"},
    {"torch.distributed._tensor.placement_types", "DTensorSpec Partial Replicate Shard TensorMeta _Partial"},
    {"torch.distributed.checkpoint.filesystem", "_StorageInfo"},
    {"torch.distributed.checkpoint.metadata",
     "BytesStorageMetadata ChunkStorageMetadata Metadata MetadataIndex StorageMeta TensorProperties "
     "TensorStorageMetadata _MEM_FORMAT_ENCODING"},
    {"torch.distributed.device_mesh", "DeviceMesh"},
    {"torch.distributed.tensor", "DTensor"},
    {"torch.distributed.tensor._dtensor_spec", "DTensorSpec ShardOrderEntry TensorMeta"},
    {"torch.distributed.tensor.placement_types", "DTensorSpec Partial Replicate Shard TensorMeta _Partial"},
    {"torch.jit._pickle",
     "build_boollist build_doublelist build_intlist build_tensor_from_id build_tensorlist restore_type_tag"},
    {"torch.nested._internal.nested_tensor", "NestedTensor _rebuild_njt"},
    {"torch.nn.backends.thnn", "_get_thnn_function_backend"},
    {"torch.nn.functional",  // activations, which transformer layers hold as functions
     "elu gelu hardswish leaky_relu log_softmax mish relu relu6 selu sigmoid silu softmax softplus tanh"},
    {"torch.nn.parallel.data_parallel", "DataParallel"},
    {"torch.nn.parallel.distributed", "DistributedDataParallel"},
    {"torch.nn.parameter", "Buffer Parameter UninitializedBuffer UninitializedParameter"},
    {"torch.nn.utils.rnn", "PackedSequence"},
    {"torch.nn.utils.spectral_norm", "SpectralNorm SpectralNormLoadStateDictPreHook SpectralNormStateDictHook"},
    {"torch.nn.utils.weight_norm", "WeightNorm"},
    {"torch.optim", "Adafactor Muon"},
    {"torch.optim.optimizer", "Optimizer _RequiredParameter"},
    {"torch.optim.swa_utils", "AveragedModel SWALR"},
    {"torch.quantization.qconfig", "QConfig QConfigDynamic"},
    {"torch.serialization", "_get_layout"},
    {"torch.sparse",
     "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor "
     "LongTensor ShortTensor"},
    {"torch.storage", "TypedStorage UntypedStorage _TypedStorage _UntypedStorage"},
    {"torch.tensor", "_rebuild_from_type"},
    {"torch.torch_version", "TorchVersion"},  // torch.__version__
    {"torch.utils.data.dataset",
     "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset"},
    {"torch.utils.hooks", "RemovableHandle"},
    {"types", "SimpleNamespace"},
    {"typing", "Any"},  // omegaconf's, for what may be anything: it is no class that is called
    {"uuid", "SafeUUID UUID"},
};

/// Modules of which every class is known: layers, losses, optimizers, schedulers, observers. New versions of torch add
/// to them, so the classes are told by their spelling.
constexpr std::string_view class_modules[] = {
    "torch.ao.quantization.fake_quantize", "torch.ao.quantization.observer", "torch.ao.quantization.stubs",
    "torch.nn.modules.activation", "torch.nn.modules.adaptive", "torch.nn.modules.batchnorm",
    "torch.nn.modules.channelshuffle", "torch.nn.modules.container", "torch.nn.modules.conv",
    "torch.nn.modules.distance", "torch.nn.modules.dropout", "torch.nn.modules.flatten", "torch.nn.modules.fold",
    "torch.nn.modules.instancenorm", "torch.nn.modules.lazy", "torch.nn.modules.linear", "torch.nn.modules.loss",
    "torch.nn.modules.module", "torch.nn.modules.normalization", "torch.nn.modules.padding",
    "torch.nn.modules.pixelshuffle", "torch.nn.modules.pooling", "torch.nn.modules.rnn", "torch.nn.modules.sparse",
    "torch.nn.modules.transformer", "torch.nn.modules.upsampling", "torch.optim._adafactor", "torch.optim._muon",
    "torch.optim.adadelta", "torch.optim.adagrad", "torch.optim.adam", "torch.optim.adamax", "torch.optim.adamw",
    "torch.optim.asgd", "torch.optim.lbfgs", "torch.optim.lr_scheduler", "torch.optim.nadam", "torch.optim.radam",
    "torch.optim.rmsprop", "torch.optim.rprop", "torch.optim.sgd", "torch.optim.sparse_adam",
    "torch.quantization.fake_quantize", "torch.quantization.observer", "torch.quantization.stubs",
};

/// Packages of quantised, fused and quantisable layers, nested at any depth.
constexpr std::string_view class_packages[] = {
    "torch.ao.nn.", "torch.nn.intrinsic.", "torch.nn.qat.", "torch.nn.quantizable.", "torch.nn.quantized.",
};

/// Modules of the table above that hold such classes as well.
constexpr std::string_view listed_classes[] = {
    "torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler", "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.distributed", "torch.nn.utils.spectral_norm", "torch.nn.utils.weight_norm", "torch.optim",
    "torch.optim.optimizer", "torch.optim.swa_utils", "torch.utils.data.dataset",
};

/// What those modules import from elsewhere and hold under a class's spelling; ABCMeta and TypedDict make classes of
/// whatever they are given, and _PartialWrapper calls what it is given.
constexpr std::string_view imported =
    "ABC ABCMeta Any BroadcastingList2 Callable ClassVar Counter Dict Enum EnumMeta Generic Iterable "
    "Iterator List Literal Mapping MutableMapping NamedTuple Node Optional OrderedDict Protocol Self Sequence "
    "Set SupportsFloat Tuple Type TypedDict TypeVar Union _PartialWrapper _Reduction";
// clang-format on

constexpr bool sorted_by_name() {
  for (std::size_t i = 1; i < std::size(modules); ++i) {
    if (!(modules[i - 1].name < modules[i].name)) return false;
  }
  return true;
}
static_assert(sorted_by_name());
static_assert(std::is_sorted(std::begin(class_modules), std::end(class_modules)));

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "Conv2d", "GRU", "_BatchNorm"; not "F" (torch.nn.functional), "_VF", "TYPE_CHECKING", nor anything with a dot.
bool is_class_name(std::string_view name) {
  const bool is_private = name.starts_with('_');
  if (is_private) name.remove_prefix(1);
  if (name.size() < 2 || !is_upper(name.front())) return false;
  if (!std::all_of(name.begin(), name.end(), [](char c) { return is_upper(c) || is_lower(c) || is_digit(c); }))
    return false;
  return !is_private || std::any_of(name.begin(), name.end(), is_lower);
}

bool holds_classes(std::string_view module) {
  return std::binary_search(std::begin(class_modules), std::end(class_modules), module) ||
         std::any_of(std::begin(class_packages), std::end(class_packages),
                     [&](std::string_view package) { return module.starts_with(package); });
}

}  // namespace

bool is_known_name(std::string_view module, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  const auto* found =
      std::lower_bound(std::begin(modules), std::end(modules), module,
                       [](const Module& entry, std::string_view wanted) { return entry.name < wanted; });
  if (found != std::end(modules) && found->name == module && lists(found->members, name)) return true;
  return holds_classes(module) && is_class_name(name) && !lists(imported, name);
}

bool is_instance_class(std::string_view module, std::string_view name) {
  const auto holds = [&](std::string_view one) { return one == module; };
  const bool listed = std::any_of(std::begin(listed_classes), std::end(listed_classes), holds);
  constexpr std::string_view others = "OptState _refresh_per_optimizer_state";  // an Enum, and a factory
  if (listed && !lists(others, name)) return is_known_name(module, name);
  return holds_classes(module) && is_known_name(module, name);
}

}  // namespace ckpt
