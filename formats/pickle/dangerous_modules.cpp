// A table: modules of which policy lets nothing through but what pickle/known_names.cpp lists. Sorted bytewise.
#include "pickle/dangerous_modules.h"

#include <algorithm>
#include <iterator>

namespace ckpt {
namespace {

/// Top-level modules of the standard library, of Python 1.5 to 2.7 and 3.0 to 3.14 on every platform.
// clang-format off
constexpr std::string_view standard_library[] = {
    "BaseHTTPServer", "Bastion", "CDROM", "CGIHTTPServer", "Canvas", "Carbon", "ColorPicker", "ConfigParser",
    "Cookie", "DLFCN", "Dialog", "DocXMLRPCServer", "EasyDialogs", "FCNTL", "FileDialog", "FixTk", "FrameWork",
    "HTMLParser", "IN", "MacOS", "MimeWriter", "Nav", "PixMapWrapper", "Queue", "SOCKET", "SUNAUDIODEV",
    "ScrolledText", "SimpleDialog", "SimpleHTTPServer", "SimpleXMLRPCServer", "SocketServer", "StringIO", "TERMIOS",
    "TYPES", "Tix", "Tkconstants", "Tkdnd", "Tkinter", "UserDict", "UserList", "UserString", "_LWPCookieJar",
    "_MozillaCookieJar", "__builtin__", "__future__", "__hello__", "__phello__", "_abc", "_abcoll", "_aix_support",
    "_android_support", "_annotationlib", "_apple_support", "_ast", "_asyncio", "_bisect", "_blake2", "_bootlocale",
    "_bootsubprocess", "_bz2", "_codecs", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr",
    "_codecs_tw", "_collections", "_collections_abc", "_colorize", "_compat_pickle", "_compression", "_contextvars",
    "_crypt", "_csv", "_ctypes", "_ctypes_test", "_curses", "_curses_panel", "_datetime", "_dbm", "_decimal",
    "_dummy_thread", "_dummy_threading", "_elementtree", "_frozen_importlib", "_frozen_importlib_external",
    "_functools", "_gdbm", "_hashlib", "_heapq", "_hmac", "_hotshot", "_imp", "_interpchannels", "_interpqueues",
    "_interpreters", "_io", "_ios_support", "_json", "_locale", "_lsprof", "_lzma", "_markupbase", "_md5", "_msi",
    "_multibytecodec", "_multiprocessing", "_opcode", "_opcode_metadata", "_operator", "_osx_support", "_overlapped",
    "_peg_parser", "_pickle", "_posix", "_posixshmem", "_posixsubprocess", "_py_abc", "_py_warnings", "_pydatetime",
    "_pydecimal", "_pyio", "_pylong", "_pyrepl", "_queue", "_random", "_remote_debugging", "_scproxy", "_sha",
    "_sha1", "_sha2", "_sha256", "_sha3", "_sha512", "_signal", "_sitebuiltins", "_socket", "_sqlite3", "_sre",
    "_ssl", "_stat", "_statistics", "_string", "_strptime", "_struct", "_suggestions", "_symtable", "_sysconfig",
    "_sysconfigdata", "_testbuffer", "_testcapi", "_testclinic", "_testclinic_limited", "_testexternalinspection",
    "_testimportmultiple", "_testinternalcapi", "_testlimitedcapi", "_testmultiphase", "_testsinglephase", "_thread",
    "_threading_local", "_tkinter", "_tokenize", "_tracemalloc", "_types", "_typing", "_uuid", "_warnings",
    "_weakref", "_weakrefset", "_winapi", "_winreg", "_wmi", "_xxinterpchannels", "_xxsubinterpreters", "_xxtestfuzz",
    "_zoneinfo", "_zstd", "abc", "aepack", "aetools", "aetypes", "aifc", "annotationlib", "antigravity", "anydbm",
    "argparse", "array", "ast", "asynchat", "asyncio", "asyncore", "atexit", "audiodev", "audioop", "autoGIL",
    "base64", "bdb", "binascii", "binhex", "bisect", "bsddb", "buildtools", "builtins", "bz2", "cPickle", "cProfile",
    "cStringIO", "calendar", "ce", "cfmfile", "cgi", "cgitb", "chunk", "cmath", "cmd", "cmpcache", "code", "codecs",
    "codeop", "collections", "colorsys", "commands", "compileall", "compiler", "compression", "concurrent",
    "configparser", "contextlib", "contextvars", "cookielib", "copy", "copy_reg", "copyreg", "crypt", "csv", "ctypes",
    "curses", "dataclasses", "datetime", "dbhash", "dbm", "decimal", "difflib", "dircache", "dis", "distutils", "dl",
    "doctest", "dumbdbm", "dummy_thread", "dummy_threading", "email", "encodings", "ensurepip", "enum", "errno",
    "exceptions", "faulthandler", "fcntl", "filecmp", "fileinput", "findertools", "fnmatch", "formatter", "fpectl",
    "fpformat", "fractions", "ftplib", "functools", "future_builtins", "gc", "gdbm", "genericpath", "gensuitemodule",
    "getopt", "getpass", "gettext", "glob", "gopherlib", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac",
    "hotshot", "html", "htmlentitydefs", "htmllib", "http", "httplib", "ic", "icopen", "idlelib", "ihooks", "imageop",
    "imaplib", "imghdr", "imp", "importlib", "imputil", "inspect", "io", "ipaddress", "itertools", "jarray", "json",
    "keyword", "lib2to3", "linecache", "linuxaudiodev", "locale", "logging", "lzma", "mac", "macerrors", "macostools",
    "macpath", "macresource", "macurl2path", "mailbox", "mailcap", "markupbase", "marshal", "math", "md5", "mhlib",
    "mimetools", "mimetypes", "mimify", "mmap", "modulefinder", "mpz", "msilib", "msvcrt", "multifile",
    "multiprocessing", "mutex", "netrc", "new", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers", "opcode",
    "operator", "optparse", "os", "os2", "os2emxpath", "ossaudiodev", "parser", "pathlib", "pdb", "pickle",
    "pickletools", "pipes", "pkgutil", "platform", "plistlib", "popen2", "poplib", "posix", "posixfile", "posixpath",
    "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue",
    "quopri", "random", "re", "readline", "reconvert", "regex", "regex_syntax", "regsub", "repr", "reprlib",
    "resource", "rexec", "rfc822", "rgbimg", "riscos", "riscosenviron", "riscospath", "rlcompleter", "robotparser",
    "rotor", "runpy", "sched", "secrets", "select", "selectors", "sets", "sgmllib", "sha", "shelve", "shlex",
    "shutil", "signal", "site", "sitecustomize", "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd",
    "sqlite3", "sre", "sre_compile", "sre_constants", "sre_parse", "ssl", "stat", "statcache", "statistics",
    "statvfs", "string", "stringold", "stringprep", "strop", "struct", "subprocess", "sunau", "sunaudio",
    "sunaudiodev", "symbol", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile",
    "termios", "test", "textwrap", "this", "thread", "threading", "time", "timeit", "timing", "tkColorChooser",
    "tkCommonDialog", "tkFileDialog", "tkFont", "tkMessageBox", "tkSimpleDialog", "tkinter", "toaiff", "token",
    "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "ttk", "tty", "turtle", "turtledemo", "types",
    "typing", "tzparse", "unicodedata", "unittest", "urllib", "urllib2", "urlparse", "user", "usercustomize", "uu",
    "uuid", "venv", "videoreader", "warnings", "wave", "weakref", "webbrowser", "whichdb", "whrandom", "winreg",
    "winsound", "wsgiref", "xdrlib", "xml", "xmllib", "xmlrpc", "xmlrpclib", "xreadlines", "xxlimited",
    "xxlimited_35", "xxsubtype", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
};

/// Packages whose job is to run code, to unpickle, to install, or to talk to a network.
constexpr std::string_view others[] = {
    "Cython", "IPython", "_distutils_hack", "_pytest", "aiohttp", "anyio", "boto3", "botocore", "caffe2", "celery",
    "cffi", "cloudpickle", "conda", "cppyy", "cuda", "cupy", "cython", "dask", "debugpy", "dill", "easy_install",
    "eventlet", "execnet", "fabric", "fsspec", "functorch", "future", "gevent", "grequests", "httpcore", "httplib2",
    "httpx", "hydra", "invoke", "ipdb", "ipykernel", "isympy", "jinja2", "joblib", "jsonpickle", "jupyter_client",
    "mako", "mpmath", "nbconvert", "networkx", "numba", "numexpr", "paramiko", "pdbpp", "pexpect", "pickle5",
    "pickleshare", "pip", "pkg_resources", "plumbum", "psutil", "ptyprocess", "pudb", "pybind11", "pycurl",
    "pydevd", "pyrasite", "pytest", "pythoncom", "pyximport", "ray", "requests", "requests_toolbelt", "ruamel",
    "setuptools", "sh", "six", "smart_open", "sqlitedict", "sympy", "torch_xla", "torchgen", "tornado", "treq",
    "trio", "triton", "twisted", "typing_extensions", "urllib3", "uvicorn", "uvloop", "virtualenv", "websocket",
    "websockets", "wheel", "win32api", "win32com", "win32process", "yaml",
};
// clang-format on

static_assert(std::is_sorted(std::begin(standard_library), std::end(standard_library)));
static_assert(std::is_sorted(std::begin(others), std::end(others)));

}  // namespace

bool in_standard_library(std::string_view top_level) {
  return std::binary_search(std::begin(standard_library), std::end(standard_library), top_level);
}

bool is_dangerous_package(std::string_view top_level) {
  return top_level == "torch" || top_level == "numpy" ||
         std::binary_search(std::begin(others), std::end(others), top_level);
}

}  // namespace ckpt
