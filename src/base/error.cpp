// SPDX-License-Identifier: BSD-3-Clause
// Maps errno to ErrorKind, and describes errors for users.
#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "base/string_util.hpp"

namespace oratorio {
namespace {

struct ErrnoRow {
    int number;
    const char* name;
    ErrorKind kind;
    const char* advice = nullptr;  // replaces the advice of the ErrorKind, unless null
};

// EBADF maps to io and not to access: the library has checked that the file's mode allows the
// access, so EBADF means that something has closed the descriptor.
constexpr ErrnoRow kErrnos[] = {
    {EACCES, "EACCES", ErrorKind::access},
    {EAGAIN, "EAGAIN", ErrorKind::io},
    {EBADF, "EBADF", ErrorKind::io,
     "the program closed a file descriptor that belongs to Oratorio; close only descriptors that "
     "the program opened"},
    {EBUSY, "EBUSY", ErrorKind::file_in_use},
    {ECONNREFUSED, "ECONNREFUSED", ErrorKind::io},
    {ECONNRESET, "ECONNRESET", ErrorKind::io},
    {EDQUOT, "EDQUOT", ErrorKind::quota},
    {EEXIST, "EEXIST", ErrorKind::file_exists},
    {EFAULT, "EFAULT", ErrorKind::buffer},
    {EFBIG, "EFBIG", ErrorKind::io},
    {EHOSTUNREACH, "EHOSTUNREACH", ErrorKind::io},
    {EINTR, "EINTR", ErrorKind::io,
     "the call was interrupted 100000 times in a row; use a slower timer in the program, or report "
     "a fault of the file system's client"},
    {EINVAL, "EINVAL", ErrorKind::io},
    {EIO, "EIO", ErrorKind::io},
    {EISDIR, "EISDIR", ErrorKind::bad_file},
    {ELOOP, "ELOOP", ErrorKind::bad_file},
    {EMFILE, "EMFILE", ErrorKind::io},
    {ENAMETOOLONG, "ENAMETOOLONG", ErrorKind::bad_file},
    {ENETUNREACH, "ENETUNREACH", ErrorKind::io},
    {ENFILE, "ENFILE", ErrorKind::io},
    {ENODEV, "ENODEV", ErrorKind::io},
    {ENOENT, "ENOENT", ErrorKind::no_such_file},
    {ENOLCK, "ENOLCK", ErrorKind::io},
    {ENOMEM, "ENOMEM", ErrorKind::no_memory},
    {ENOSPC, "ENOSPC", ErrorKind::no_space},
    {ENOSYS, "ENOSYS", ErrorKind::unsupported_operation},
    {ENOTDIR, "ENOTDIR", ErrorKind::bad_file},
    {ENXIO, "ENXIO", ErrorKind::io},
    {EOPNOTSUPP, "EOPNOTSUPP", ErrorKind::unsupported_operation},
    {EPERM, "EPERM", ErrorKind::access},
    {EPIPE, "EPIPE", ErrorKind::io},
    {EPROTO, "EPROTO", ErrorKind::io},
    {EROFS, "EROFS", ErrorKind::read_only},
    {ESPIPE, "ESPIPE", ErrorKind::bad_file},
    // No advice: the library also uses this number, with the kind no_such_file, if a file's name
    // now leads to another file.
    {ESTALE, "ESTALE", ErrorKind::io, ""},
    {ETIMEDOUT, "ETIMEDOUT", ErrorKind::io},
    {ETXTBSY, "ETXTBSY", ErrorKind::file_in_use},
    {kInvalidResult, "no error number", ErrorKind::io,
     "this is a fault of the file system's client; report it to its vendor"},
};

struct KindRow {
    const char* text;
    const char* advice;            // what the user can do; empty if that depends on the error
    bool is_of_data_file = false;  // the advice is about a file of the program
};

// One row per ErrorKind, in the order of the enum.
constexpr KindRow kKinds[] = {
    {"no error", ""},
    {"invalid argument", ""},
    {"invalid buffer", ""},
    {"invalid count", ""},
    {"invalid datatype", ""},
    {"invalid file handle", ""},
    {"arguments differ between ranks", "pass the same value on every rank of the communicator"},
    {"invalid access mode", ""},
    {"data representation not supported", "use native, internal or external32"},
    {"operation not supported", ""},
    {"no such file", "check the path; to create a file, open it with MPI_MODE_CREATE", true},
    {"file exists", "remove the file, or open it without MPI_MODE_EXCL", true},
    {"can't be used as a file", "check the path", true},
    {"access denied",
     "check the permissions of the file and its folder, and the mode it was opened with", true},
    {"no space left", "free some space or write to another file system", true},
    {"quota exceeded", "delete some of your files or request a larger quota"},
    {"read-only file or file system", "write to another file system or open with MPI_MODE_RDONLY",
     true},
    {"file in use", "close the file on all ranks and in all programs first", true},
    {"data representation already registered", ""},
    {"data conversion failed", ""},
    {"invalid info value", ""},
    {"invalid communicator", ""},
    {"input/output error", ""},
    {"out of memory", "use fewer ranks per node or a smaller cb_buffer_size"},
    {"error", ""},
    {"internal error", "please report this"},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(ErrorKind::internal) + 1);

const KindRow& row_of(ErrorKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    return kKinds[index < std::size(kKinds) ? index : static_cast<std::size_t>(ErrorKind::other)];
}

const ErrnoRow* row_of(int system_errno) {
    const auto* row = std::ranges::find(kErrnos, system_errno, &ErrnoRow::number);
    return row == std::end(kErrnos) ? nullptr : row;
}

std::string_view advice_on(const Error& error, Subject subject) {
    const ErrnoRow* row = row_of(error.system_errno);
    if (row != nullptr && row->advice != nullptr) return row->advice;
    const KindRow& kind = row_of(error.kind);
    if (subject == Subject::other && kind.is_of_data_file) return "";
    // Without an errno, the file system is writable, but the file was opened for reading only.
    if (error.kind == ErrorKind::read_only && error.system_errno == 0)
        return "open it with MPI_MODE_RDWR or MPI_MODE_WRONLY to write";
    return kind.advice;
}

std::string system_text(int system_errno) {
    std::string text = system_errno == kInvalidResult
                           ? "the system returned neither a length nor an error"
                           : std::generic_category().message(system_errno);
    // The text begins with a lower-case letter ("no space"), unless it begins with an acronym ("RPC
    // ...").
    if (text.size() > 1 && text[1] != upper(text[1])) text[0] = lower(text[0]);
    const ErrnoRow* row = row_of(system_errno);
    return text + " (" + (row ? row->name : "errno " + std::to_string(system_errno)) + ")";
}

}  // namespace

Error Error::of_errno(std::string_view what, int number) {
    return make(kind_of_errno(number), what, number);
}

ErrorKind kind_of_errno(int system_errno) {
    if (system_errno == 0) return ErrorKind::none;
    const ErrnoRow* row = row_of(system_errno);
    return row ? row->kind : ErrorKind::io;
}

std::string describe(const Error& error, std::string_view path, Subject subject) {
    const KindRow& kind = row_of(error.kind);
    std::string text = error.system_errno != 0 ? system_text(error.system_errno) : kind.text;
    if (error.offset >= 0) {
        text += " at " + std::to_string(error.offset);
        if (error.length > 0) text += "+" + std::to_string(error.length);
    }
    if (error.round >= 0) text += ", round " + std::to_string(error.round);
    if (error.rank >= 0) text += ", rank " + std::to_string(error.rank);
    if (!path.empty()) text.append(", ").append(path);
    std::string_view what(error.what, ::strnlen(error.what, sizeof error.what));
    if (!what.empty()) text.append(": ").append(what);
    const std::string_view advice = advice_on(error, subject);
    if (!advice.empty()) text.append(what.empty() ? ": " : "; ").append(advice);
    return text;
}

}  // namespace oratorio
