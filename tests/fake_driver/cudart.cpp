// libcudart.so.13: there to be asked for its version.
extern "C" int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return 0;
}
