// A table: names of the standard library that differ between Python 2 and Python 3, as CPython's pickle maps them for
// protocols below 3 (Lib/_compat_pickle.py of 3.8 to 3.12). Lookups stand at the end.
#include "model/python_names.h"

#include <algorithm>

namespace ckpt {
namespace {

enum class Way : char { both, to3, to2 };
constexpr Way both = Way::both;
constexpr Way to3 = Way::to3;
constexpr Way to2 = Way::to2;

struct ModulePair {
  Way way;
  std::string_view two, three;
};

struct NamePair {
  Way way;
  std::string_view module2, name2, module3, name3;
};

// clang-format off
constexpr ModulePair modules[] = {
    {both, "BaseHTTPServer", "http.server"},
    {both, "ConfigParser", "configparser"},
    {both, "Cookie", "http.cookies"},
    {both, "Dialog", "tkinter.dialog"},
    {both, "HTMLParser", "html.parser"},
    {both, "Queue", "queue"},
    {both, "ScrolledText", "tkinter.scrolledtext"},
    {both, "SimpleXMLRPCServer", "xmlrpc.server"},
    {both, "SocketServer", "socketserver"},
    {both, "Tix", "tkinter.tix"},
    {both, "Tkconstants", "tkinter.constants"},
    {both, "Tkdnd", "tkinter.dnd"},
    {both, "Tkinter", "tkinter"},
    {both, "__builtin__", "builtins"},
    {both, "_abcoll", "collections.abc"},
    {both, "_winreg", "winreg"},
    {both, "anydbm", "dbm"},
    {both, "commands", "subprocess"},
    {both, "cookielib", "http.cookiejar"},
    {both, "copy_reg", "copyreg"},
    {both, "dbhash", "dbm.bsd"},
    {both, "dbm", "dbm.ndbm"},
    {both, "dumbdbm", "dbm.dumb"},
    {both, "dummy_thread", "_dummy_thread"},
    {both, "gdbm", "dbm.gnu"},
    {both, "htmlentitydefs", "html.entities"},
    {both, "httplib", "http.client"},
    {both, "markupbase", "_markupbase"},
    {both, "repr", "reprlib"},
    {both, "robotparser", "urllib.robotparser"},
    {both, "test.test_support", "test.support"},
    {both, "thread", "_thread"},
    {both, "tkColorChooser", "tkinter.colorchooser"},
    {both, "tkCommonDialog", "tkinter.commondialog"},
    {both, "tkFileDialog", "tkinter.filedialog"},
    {both, "tkFont", "tkinter.font"},
    {both, "tkMessageBox", "tkinter.messagebox"},
    {both, "tkSimpleDialog", "tkinter.simpledialog"},
    {both, "ttk", "tkinter.ttk"},
    {both, "urllib2", "urllib.request"},
    {both, "urlparse", "urllib.parse"},
    {both, "xmlrpclib", "xmlrpc.client"},
    {to3, "CGIHTTPServer", "http.server"},
    {to3, "DocXMLRPCServer", "xmlrpc.server"},
    {to3, "FileDialog", "tkinter.filedialog"},
    {to3, "SimpleDialog", "tkinter.simpledialog"},
    {to3, "SimpleHTTPServer", "http.server"},
    {to3, "StringIO", "io"},
    {to3, "UserDict", "collections"},
    {to3, "UserList", "collections"},
    {to3, "UserString", "collections"},
    {to3, "_elementtree", "xml.etree.ElementTree"},
    {to3, "cPickle", "pickle"},
    {to3, "cStringIO", "io"},
    {to3, "whichdb", "dbm"},
    {to2, "bz2", "_bz2"},
    {to2, "dbm", "_dbm"},
    {to2, "functools", "_functools"},
    {to2, "gdbm", "_gdbm"},
    {to2, "pickle", "_pickle"},
};

/// Single names that moved; they win over their modules.
constexpr NamePair names[] = {
    {both, "UserDict", "IterableUserDict", "collections", "UserDict"},
    {both, "UserList", "UserList", "collections", "UserList"},
    {both, "UserString", "UserString", "collections", "UserString"},
    {both, "__builtin__", "intern", "sys", "intern"},
    {both, "__builtin__", "long", "builtins", "int"},
    {both, "__builtin__", "reduce", "functools", "reduce"},
    {both, "__builtin__", "unichr", "builtins", "chr"},
    {both, "__builtin__", "unicode", "builtins", "str"},
    {both, "__builtin__", "xrange", "builtins", "range"},
    {both, "_multiprocessing", "Connection", "multiprocessing.connection", "Connection"},
    {both, "_socket", "fromfd", "socket", "fromfd"},
    {both, "itertools", "ifilter", "builtins", "filter"},
    {both, "itertools", "ifilterfalse", "itertools", "filterfalse"},
    {both, "itertools", "imap", "builtins", "map"},
    {both, "itertools", "izip", "builtins", "zip"},
    {both, "itertools", "izip_longest", "itertools", "zip_longest"},
    {both, "multiprocessing", "AuthenticationError", "multiprocessing.context", "AuthenticationError"},
    {both, "multiprocessing", "BufferTooShort", "multiprocessing.context", "BufferTooShort"},
    {both, "multiprocessing", "ProcessError", "multiprocessing.context", "ProcessError"},
    {both, "multiprocessing", "TimeoutError", "multiprocessing.context", "TimeoutError"},
    {both, "multiprocessing.forking", "Popen", "multiprocessing.popen_fork", "Popen"},
    {both, "multiprocessing.process", "Process", "multiprocessing.context", "Process"},
    {both, "urllib", "ContentTooShortError", "urllib.error", "ContentTooShortError"},
    {both, "urllib", "getproxies", "urllib.request", "getproxies"},
    {both, "urllib", "pathname2url", "urllib.request", "pathname2url"},
    {both, "urllib", "quote", "urllib.parse", "quote"},
    {both, "urllib", "quote_plus", "urllib.parse", "quote_plus"},
    {both, "urllib", "unquote", "urllib.parse", "unquote"},
    {both, "urllib", "unquote_plus", "urllib.parse", "unquote_plus"},
    {both, "urllib", "url2pathname", "urllib.request", "url2pathname"},
    {both, "urllib", "urlcleanup", "urllib.request", "urlcleanup"},
    {both, "urllib", "urlencode", "urllib.parse", "urlencode"},
    {both, "urllib", "urlopen", "urllib.request", "urlopen"},
    {both, "urllib", "urlretrieve", "urllib.request", "urlretrieve"},
    {both, "urllib2", "HTTPError", "urllib.error", "HTTPError"},
    {both, "urllib2", "URLError", "urllib.error", "URLError"},
    {both, "whichdb", "whichdb", "dbm", "whichdb"},
    {to3, "UserDict", "UserDict", "collections", "UserDict"},
    {to3, "__builtin__", "basestring", "builtins", "str"},
    {to3, "exceptions", "StandardError", "builtins", "Exception"},
    {to3, "socket", "_socketobject", "socket", "SocketType"},
    {to2, "CGIHTTPServer", "CGIHTTPRequestHandler", "http.server", "CGIHTTPRequestHandler"},
    {to2, "DocXMLRPCServer", "DocCGIXMLRPCRequestHandler", "xmlrpc.server", "DocCGIXMLRPCRequestHandler"},
    {to2, "DocXMLRPCServer", "DocXMLRPCRequestHandler", "xmlrpc.server", "DocXMLRPCRequestHandler"},
    {to2, "DocXMLRPCServer", "DocXMLRPCServer", "xmlrpc.server", "DocXMLRPCServer"},
    {to2, "DocXMLRPCServer", "ServerHTMLDoc", "xmlrpc.server", "ServerHTMLDoc"},
    {to2, "DocXMLRPCServer", "XMLRPCDocGenerator", "xmlrpc.server", "XMLRPCDocGenerator"},
    {to2, "FileDialog", "FileDialog", "tkinter.filedialog", "FileDialog"},
    {to2, "FileDialog", "LoadFileDialog", "tkinter.filedialog", "LoadFileDialog"},
    {to2, "FileDialog", "SaveFileDialog", "tkinter.filedialog", "SaveFileDialog"},
    {to2, "SimpleDialog", "SimpleDialog", "tkinter.simpledialog", "SimpleDialog"},
    {to2, "SimpleHTTPServer", "SimpleHTTPRequestHandler", "http.server", "SimpleHTTPRequestHandler"},
    {to2, "__builtin__", "reduce", "_functools", "reduce"},
    {to2, "exceptions", "ImportError", "builtins", "ModuleNotFoundError"},
    {to2, "exceptions", "OSError", "builtins", "BrokenPipeError"},
    {to2, "exceptions", "OSError", "builtins", "ChildProcessError"},
    {to2, "exceptions", "OSError", "builtins", "ConnectionAbortedError"},
    {to2, "exceptions", "OSError", "builtins", "ConnectionError"},
    {to2, "exceptions", "OSError", "builtins", "ConnectionRefusedError"},
    {to2, "exceptions", "OSError", "builtins", "ConnectionResetError"},
    {to2, "exceptions", "OSError", "builtins", "FileExistsError"},
    {to2, "exceptions", "OSError", "builtins", "FileNotFoundError"},
    {to2, "exceptions", "OSError", "builtins", "InterruptedError"},
    {to2, "exceptions", "OSError", "builtins", "IsADirectoryError"},
    {to2, "exceptions", "OSError", "builtins", "NotADirectoryError"},
    {to2, "exceptions", "OSError", "builtins", "PermissionError"},
    {to2, "exceptions", "OSError", "builtins", "ProcessLookupError"},
    {to2, "exceptions", "OSError", "builtins", "TimeoutError"},
    {to2, "socket", "_socketobject", "_socket", "socket"},
};

/// "exceptions" of Python 2, "builtins" of Python 3.
constexpr std::string_view exceptions[] = {
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BufferError", "BytesWarning",
    "DeprecationWarning", "EOFError", "EnvironmentError", "Exception", "FloatingPointError", "FutureWarning",
    "GeneratorExit", "IOError", "ImportError", "ImportWarning", "IndentationError", "IndexError", "KeyError",
    "KeyboardInterrupt", "LookupError", "MemoryError", "NameError", "NotImplementedError", "OSError", "OverflowError",
    "PendingDeprecationWarning", "ReferenceError", "RuntimeError", "RuntimeWarning", "StopIteration", "SyntaxError",
    "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TypeError", "UnboundLocalError", "UnicodeDecodeError",
    "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError", "UnicodeWarning", "UserWarning", "ValueError",
    "Warning", "ZeroDivisionError",
};
// clang-format on

bool is_exception(std::string_view name) {
  return std::find(std::begin(exceptions), std::end(exceptions), name) != std::end(exceptions);
}

using Global = std::pair<std::string, std::string>;

}  // namespace

Global to_python3(std::string_view module, std::string_view name) {
  if (module == "exceptions" && is_exception(name)) return {"builtins", std::string(name)};
  for (const NamePair& pair : names) {
    if (pair.way != to2 && pair.name2 == name && pair.module2 == module) {
      return {std::string(pair.module3), std::string(pair.name3)};
    }
  }
  for (const ModulePair& pair : modules) {
    if (pair.way != to2 && pair.two == module) return {std::string(pair.three), std::string(name)};
  }
  return {std::string(module), std::string(name)};
}

Global to_python2(std::string_view module, std::string_view name) {
  if (module == "builtins" && is_exception(name)) return {"exceptions", std::string(name)};
  for (const NamePair& pair : names) {
    if (pair.way != to3 && pair.name3 == name && pair.module3 == module) {
      return {std::string(pair.module2), std::string(pair.name2)};
    }
  }
  for (const ModulePair& pair : modules) {
    if (pair.way != to3 && pair.three == module) return {std::string(pair.two), std::string(name)};
  }
  return {std::string(module), std::string(name)};
}

}  // namespace ckpt
