// OpenFile: a File and what only the MPI side of it needs to know.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bind/error_handlers.hpp"
#include "bind/workspaces.hpp"
#include "file/file.hpp"

namespace oratorio::bind {

/// A datatype handle that outlives the program's own. Predefined types are kept as they are.
class HeldType {
  public:
    HeldType() = default;
    explicit HeldType(MPI_Datatype predefined) : type_(predefined) {}
    /// A duplicate of `type` that nobody frees but the holder.
    [[nodiscard]] static Result<HeldType> duplicate(MPI_Datatype type);
    HeldType(HeldType&& other) noexcept { swap(other); }
    HeldType& operator=(HeldType&& other) noexcept {
        swap(other);
        return *this;
    }
    ~HeldType();

    [[nodiscard]] MPI_Datatype get() const { return type_; }
    /// For the program: the type itself when predefined, else a duplicate that is the program's to
    /// free. MPI_SUCCESS or an error code.
    int copy_to(MPI_Datatype* copy) const;

  private:
    void swap(HeldType& other) noexcept {
        std::swap(type_, other.type_);
        std::swap(owned_, other.owned_);
    }

    MPI_Datatype type_{};
    bool owned_ = false;
};

struct OpenFile {
    std::mutex mutex;  ///< guards all below but path; not held while a user's error handler runs
    std::string path;  ///< as the program gave it; never changes
    LentWorkspace workspace;  ///< the file's; given back when the file is gone
    std::unique_ptr<File> file;
    ErrorHandler handler;
    int amode = 0;
    HeldType etype;
    HeldType filetype;
};

}  // namespace oratorio::bind
