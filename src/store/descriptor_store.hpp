// DescriptorStore: what all stores over a file descriptor have in common, that is everything but
// moving bytes.
#pragma once

#include "store/store.hpp"

namespace oratorio {

/// Owns a file descriptor.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();
    [[nodiscard]] int number() const { return number_; }
    /// Tells what close(2) told; a second call does nothing.
    Result<void> close();

  private:
    int number_;
};

/// Opens `path`; a directory is refused as bad_file.
Result<Descriptor> open_descriptor(const std::string& path, const OpenMode& mode);

/// Gives [0, bytes) storage by writing every block again, zeros where there was nothing. Needs no
/// support from the file system, but no one else may write meanwhile. Where the file can't be read,
/// holes before its end stay.
Result<void> allocate_by_writing(int descriptor, Bytes bytes);

class DescriptorStore : public Store {
  public:
    explicit DescriptorStore(Descriptor file);
    Result<Bytes> size() final;
    Result<void> resize(Bytes bytes, bool allocate) final;
    Result<void> sync() final;
    Result<void> lock(Extent range, bool lock, bool exclusive) final;
    Result<void> close() override;
    [[nodiscard]] const StoreLimits& limits() const final { return limits_; }

  protected:
    [[nodiscard]] int descriptor() const { return file_.number(); }
    StoreLimits limits_;

  private:
    Descriptor file_;
};

}  // namespace oratorio
