// SPDX-License-Identifier: BSD-3-Clause
// Client: the cache that one node keeps of a file on a network or cluster file system, and the
// times at which it writes to the server. On NFS and FUSE (and the kinds that are like one of them:
// SMB, 9p, MooseFS) a page is cached when it is read or written. Cached pages may be stale until
// the node takes a lock (NFS) or opens the file again, and they go to the server at fsync and
// close, on NFS also at lock and unlock. The client may send whole pages, so that clients that
// share a page overwrite each other's bytes. Clients of OCFS2 and CephFS keep their caches
// coherent, so that every call goes to the file itself, but OCFS2's locks and CephFS's sizes have
// faults of their own.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "oracle/client_facts.hpp"
#include "oracle/scarcity.hpp"
#include "oracle/storage.hpp"

namespace oratorio::oracle {

class Client;

/// Returns the options of the server's store for one open file of a client on that node.
test::MemoryStoreOptions server_options(const ClientFacts& facts, int node);

/// One open file of one rank.
struct Connection {
    Client* client = nullptr;
    std::unique_ptr<SimulatedStore> server;
    bool direct = false;
    int failures_seen = 0;
    std::vector<Extent> locked;
};

/// State that the clients of one file share.
struct Server {
    Storage& storage;
    std::uint64_t changes = 0;  ///< the number of changes so far
};

/// The file system client of one node. Its calls return what the system calls of these names
/// return, or a negative errno; a value below -4095 is the result of the call (see
/// read_in_step).
class Client {
  public:
    Client(Fibers& fibers, Server& server, ClientKind kind)
        : fibers_(fibers), server_(server), kind_(kind), facts_(facts_of(kind)) {}

    void open(Connection& by);
    ssize_t read(Connection& by, Offset offset, std::span<const iovec> memory);
    ssize_t write(Connection& by, Offset offset, std::span<const iovec> memory);
    int sync(Connection& by);
    int resize(Connection& by, Bytes bytes, bool allocate);
    /// Takes or releases a lock. Taking one waits until no other owner holds a conflicting lock.
    int lock(Connection& by, Extent range, bool lock, bool exclusive);
    /// Returns true, by chance, if another owner holds a lock in the range: the nonblocking lock
    /// call then fails and must be repeated. Once it returns false, the caller waits in lock().
    bool puts_off(Connection& by, Extent range);
    /// Returns the file's size as this client knows it. With `refresh`, it first updates the
    /// attributes from the server.
    Bytes size(Connection& by, bool refresh);
    /// Drops the pages that have no unsent changes.
    void drop_pages();
    int close(Connection& by);
    /// Stops the client from writing back, dropping pages or updating attributes unprompted.
    void keep_still() { still_ = true; }

  private:
    struct Page {
        std::vector<std::byte> bytes;
        Extent dirty;  ///< the bytes of the page that the server does not have yet
    };
    using Pages = std::map<Offset, Page>;  ///< by the page's offset in the file
    struct Unsent {
        Offset offset;
        std::vector<std::byte> bytes;
    };
    /// Gives one call exclusive access to the client's pages while the object lives.
    class Turn {
      public:
        explicit Turn(Client& client);
        ~Turn() { client_.busy_ = false; }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        Spared spared_;
        Client& client_;
    };

    void wander(Connection& by);
    void revalidate(Connection& by);
    [[nodiscard]] bool sends_whole_pages() const;
    ssize_t ask(Connection& by, const IoRequest& request);
    int send(Connection& by, Offset offset, std::span<std::byte> bytes);
    int fetch(Connection& by, Offset offset, std::span<std::byte> into);
    int find(Connection& by, Offset base, bool content, Page*& page);
    void write_back(Connection& by, Offset base, Page& page);
    void flush(Connection& by);
    void send_unsent(Connection& by, std::size_t count);
    void note(int number);
    void forget();
    [[nodiscard]] Bytes size_seen() const;
    ssize_t read_in_step(Connection& by, const IoRequest& request);
    ssize_t write_in_step(Connection& by, const IoRequest& request);
    ssize_t read_direct(Connection& by, const IoRequest& request);
    ssize_t write_direct(Connection& by, const IoRequest& request);
    int write_page(Connection& by, Offset base, Extent range, const std::byte* from);

    Fibers& fibers_;
    Server& server_;
    ClientKind kind_;
    const ClientFacts& facts_;
    Pages pages_;
    std::vector<Unsent> unsent_;  ///< writes that a FUSE daemon has not yet sent to the server
    Bytes size_ = 0;              ///< the file's size as this client knows it
    std::uint64_t change_ = 0;    ///< value of Server::changes that the cached pages match
    bool attributes_valid_ = false;
    int locks_ = 0;     ///< number of locks on the file held by this node's ranks
    int failures_ = 0;  ///< number of failed write-backs
    int failure_ = 0;   ///< errno of the most recent failed write-back
    bool busy_ = false;
    bool still_ = false;
};

}  // namespace oratorio::oracle
