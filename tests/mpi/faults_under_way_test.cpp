// SPDX-License-Identifier: BSD-3-Clause
// Storage that fails during an access that the program completes later, or during an ordered one.
// Accesses are nonblocking, split and ordered. The call that completes the access returns the right
// class and a true count, the file's error handler runs once, no rank hangs, and the file works
// again afterwards. If the access is collective, all ranks get the error; with some methods the
// others get it in their next collective access or sync.
//
// With the argument "thread" MPI is initialised with MPI_THREAD_MULTIPLE.
#include <algorithm>
#include <cstring>

#include "mpi/file_support.hpp"
#include "mpi/io_faults.hpp"

namespace oratorio::test {
namespace {

constexpr int kPieces = 60;
constexpr int kPiece = 96;
constexpr int kBytes = kPieces * kPiece;  ///< data of a rank

long long whole() {
    return static_cast<long long>(kBytes) * size_of_world();
}

// How an access begins, and how it ends if it has no request to complete.
using Begin = int (*)(MPI_File, void*, MPI_Request*);
using End = int (*)(MPI_File, void*, MPI_Status*);

template <auto call>
int with_request(MPI_File file, void* buffer, MPI_Request* request) {
    return call(file, buffer, kBytes, MPI_BYTE, request);
}
template <auto call>
int with_request_at(MPI_File file, void* buffer, MPI_Request* request) {
    return call(file, 0, buffer, kBytes, MPI_BYTE, request);
}
template <auto call>
int split(MPI_File file, void* buffer, MPI_Request*) {
    return call(file, buffer, kBytes, MPI_BYTE);
}
template <auto call>
int split_at(MPI_File file, void* buffer, MPI_Request*) {
    return call(file, 0, buffer, kBytes, MPI_BYTE);
}
template <auto call>
int end_of_split(MPI_File file, void* buffer, MPI_Status* status) {
    return call(file, buffer, status);
}
template <auto call>
int at_once(MPI_File file, void* buffer, MPI_Status* status) {
    return call(file, buffer, kBytes, MPI_BYTE, status);
}

struct Form {
    const char* name;
    bool reads;
    bool collective;
    bool shared;  ///< uses the shared file pointer: all ranks have the same view
    Begin begin;  ///< null: `end` does everything
    End end;      ///< null: `begin` makes a request

    [[nodiscard]] bool ordered() const { return shared && collective; }
};

constexpr Form kForms[] = {
    {"iwrite", false, false, false, with_request<MPI_File_iwrite>, nullptr},
    {"iwrite_at", false, false, false, with_request_at<MPI_File_iwrite_at>, nullptr},
    {"iwrite_shared", false, false, true, with_request<MPI_File_iwrite_shared>, nullptr},
    {"iwrite_all", false, true, false, with_request<MPI_File_iwrite_all>, nullptr},
    {"iwrite_at_all", false, true, false, with_request_at<MPI_File_iwrite_at_all>, nullptr},
    {"write_all, split", false, true, false, split<MPI_File_write_all_begin>,
     end_of_split<MPI_File_write_all_end>},
    {"write_at_all, split", false, true, false, split_at<MPI_File_write_at_all_begin>,
     end_of_split<MPI_File_write_at_all_end>},
    {"write_ordered", false, true, true, nullptr, at_once<MPI_File_write_ordered>},
    {"write_ordered, split", false, true, true, split<MPI_File_write_ordered_begin>,
     end_of_split<MPI_File_write_ordered_end>},
    {"iread", true, false, false, with_request<MPI_File_iread>, nullptr},
    {"iread_at", true, false, false, with_request_at<MPI_File_iread_at>, nullptr},
    {"iread_shared", true, false, true, with_request<MPI_File_iread_shared>, nullptr},
    {"iread_all", true, true, false, with_request<MPI_File_iread_all>, nullptr},
    {"iread_at_all", true, true, false, with_request_at<MPI_File_iread_at_all>, nullptr},
    {"read_all, split", true, true, false, split<MPI_File_read_all_begin>,
     end_of_split<MPI_File_read_all_end>},
    {"read_at_all, split", true, true, false, split_at<MPI_File_read_at_all_begin>,
     end_of_split<MPI_File_read_at_all_end>},
    {"read_ordered", true, true, true, nullptr, at_once<MPI_File_read_ordered>},
    {"read_ordered, split", true, true, true, split<MPI_File_read_ordered_begin>,
     end_of_split<MPI_File_read_ordered_end>},
};

/// Returns the place in the file of byte i of a rank's data. Each rank has one block, or pieces in
/// turn with the other ranks. An unordered access with the shared file pointer may meet the block
/// of another rank instead.
long long place(const Form& form, int rank, long long i) {
    if (form.shared) return rank * static_cast<long long>(kBytes) + i;
    return (i / kPiece * size_of_world() + rank) * kPiece + i % kPiece;
}

Bytes data_of(const Form& form, int rank) {
    Bytes bytes;
    for (long long i = 0; i < kBytes; ++i)
        bytes.push_back(pattern(static_cast<std::uint64_t>(place(form, rank, i))));
    return bytes;
}

struct Handled {
    int calls = 0;
    MPI_File file = MPI_FILE_NULL;
    int error_class = -1;
};
Handled handled;

extern "C" void tell_handler(MPI_File* file, int* code, ...) {
    handled = {handled.calls + 1, *file, class_of(*code)};
}

MPI_File open_for(const Form& form, const ScratchFile& scratch, const Hints& hints) {
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    MPI_Errhandler handler;
    MPI_File_create_errhandler(tell_handler, &handler);
    MPI_File_set_errhandler(file, handler);
    MPI_Errhandler_free(&handler);
    if (form.shared) return file;
    MPI_Datatype pieces, type;
    MPI_Type_vector(kPieces, kPiece, kPiece * size_of_world(), MPI_BYTE, &pieces);
    MPI_Type_create_resized(pieces, 0, static_cast<MPI_Aint>(whole()), &type);
    MPI_Type_free(&pieces);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, rank_of_world() * kPiece, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    return file;
}

/// Returns how many bytes of all ranks' data are in the file.
long long stored(const Form& form, const std::string& name) {
    const bool known_places = !form.shared || form.collective;
    const Bytes bytes = bytes_of_file(name, 0, whole());
    long long count = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        count += known_places ? bytes[i] == pattern(i) : bytes[i] != 0;
    return count;
}

/// The routines that complete requests.
enum class Ending { wait, waitall, waitany, waitsome, test, testall, testany, testsome };
constexpr int kEndings = 8;

/// Completes the access and returns its error code. A routine that completes several requests must
/// report the code in the access's status.
int complete(Ending ending, MPI_Request& request, MPI_Status& status) {
    // Request 2 is the access. The other two are null, or messages that succeed (waitall, testall).
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, request};
    MPI_Status statuses[3];
    int flag = 0, index = -1, indices[3], done = 0, code = MPI_SUCCESS;
    const auto said_in = [&](const MPI_Status& one, int returned) {
        status = one;
        CHECK(returned == MPI_SUCCESS || returned == MPI_ERR_IN_STATUS);
        return returned == MPI_ERR_IN_STATUS ? one.MPI_ERROR : returned;
    };
    switch (ending) {
        case Ending::wait:
            return MPI_Wait(&request, &status);
        case Ending::test:
            while (flag == 0) code = MPI_Test(&request, &flag, &status);
            return code;
        case Ending::waitany:
            code = MPI_Waitany(3, requests, &index, &status);
            CHECK(index == 2);
            return code;
        case Ending::testany:
            while (flag == 0) code = MPI_Testany(3, requests, &index, &flag, &status);
            CHECK(index == 2);
            return code;
        case Ending::waitsome:
            code = MPI_Waitsome(3, requests, &done, indices, statuses);
            break;
        case Ending::testsome:
            while (done == 0) code = MPI_Testsome(3, requests, &done, indices, statuses);
            break;
        case Ending::waitall:
        case Ending::testall: {
            int in = -1, out = 7;
            MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
            MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
            if (ending == Ending::waitall) code = MPI_Waitall(3, requests, statuses);
            while (ending == Ending::testall && flag == 0)
                code = MPI_Testall(3, requests, &flag, statuses);
            CHECK(in == out && moved_bytes(statuses[0]) == sizeof(int));
            CHECK(code == MPI_SUCCESS ||
                  (statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_SUCCESS));
            CHECK(requests[2] == MPI_REQUEST_NULL);
            return said_in(statuses[2], code);
        }
    }
    CHECK(done == 1 && indices[0] == 2 && requests[2] == MPI_REQUEST_NULL);
    return said_in(statuses[0], code);
}

/// Makes the whole access, from begin to end.
int do_access(const Form& form, Ending ending, MPI_File file, Bytes& bytes, MPI_Status& status) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (form.begin != nullptr) CHECK(form.begin(file, bytes.data(), &request) == MPI_SUCCESS);
    if (form.end != nullptr) return form.end(file, bytes.data(), &status);
    return complete(ending, request, status);
}

/// Returns true if as many bytes were read as the count says. They need not be the leading bytes.
bool holds_what_is_counted(const Form& form, const Bytes& got, long long moved) {
    const auto bytes_of = [&](int rank) {
        const Bytes bytes = data_of(form, rank);
        long long count = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) count += got[i] == bytes[i];
        return count;
    };
    if (!form.shared || form.ordered()) return bytes_of(rank_of_world()) == moved;
    for (int rank = 0; rank < size_of_world(); ++rank)
        if (bytes_of(rank) >= moved) return true;
    return false;
}

/// Collective. Writes all ranks' data by one access.
int write_all(const Form& form, MPI_File file, MPI_Status& status) {
    Bytes bytes = data_of(form, rank_of_world());
    if (!form.shared)
        return MPI_File_write_at_all(file, 0, bytes.data(), kBytes, MPI_BYTE, &status);
    const int code = MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    if (code != MPI_SUCCESS) return code;
    return MPI_File_write_ordered(file, bytes.data(), kBytes, MPI_BYTE, &status);
}

/// The error classes with which later calls must report the failure of an access.
struct Later {
    int access = MPI_SUCCESS;  ///< the next collective access, which then does nothing
    int sync = MPI_SUCCESS;    ///< the next sync
};

/// Collective. Uses the same handle again.
void works_again(const Form& form, MPI_File file, const ScratchFile& scratch, const Later& later,
                 const std::string& told) {
    MPI_Status status;
    handled = {};
    if (later.access != MPI_SUCCESS) {
        CHECK_IN(told, class_of(write_all(form, file, status)) == later.access);
        CHECK_IN(told, moved_bytes(status) == 0 && handled.calls == 1);
        handled = {};
    }
    const int code = write_all(form, file, status);
    CHECK_IN(told, code == MPI_SUCCESS && moved_bytes(status) == kBytes && handled.calls == 0);
    CHECK_IN(told, class_of(MPI_File_sync(file)) == later.sync);
    if (rank_of_world() == 0) {
        const Form& placed = form.shared ? kForms[7] : form;
        CHECK_IN(told, stored(placed, scratch.name()) == whole());
    }
}

void access_meets(const Form& form, const IoFault& fault, Ending ending, const Hints& hints,
                  const std::string& told) {
    const ScratchFile scratch;
    if (form.reads && rank_of_world() == 0) {
        Bytes all;
        for (long long i = 0; i < whole(); ++i)
            all.push_back(pattern(static_cast<std::uint64_t>(i)));
        put_into_file(scratch.name(), 0, all);
    }
    MPI_File file = open_for(form, scratch, hints);
    Bytes bytes = form.reads ? Bytes(kBytes) : data_of(form, rank_of_world());
    MPI_Status status;
    handled = {};
    set_io_fault(fault);
    // With data shipping an agent meets the fault, perhaps on another rank.
    const Method* const method = find_method(hints.front().second);
    const bool shipped = method != nullptr && method->storage_part().shipped;
    if (shipped) MPI_Barrier(MPI_COMM_WORLD);
    const int code = do_access(form, ending, file, bytes, status);
    if (shipped) MPI_Barrier(MPI_COMM_WORLD);
    const bool met_here = io_faults_met() > 0;
    set_io_fault({});
    const bool met = sum_of_ranks(met_here ? 1 : 0) > 0;
    // In a sparse access only ranks that have data with the failing aggregator get the error.
    const bool sparse = method != nullptr && method->graph_part().is_thinned && form.collective;
    // If each rank reads its own data, the other ranks learn of a failure later. The same holds on
    // several nodes for a method that needs shared memory.
    const bool own_calls = form.reads && form.collective && !shipped && method != nullptr &&
                           !method->exchange_part().sends_messages && !method->schedule.in_turns;
    const bool some_hear = shipped || sparse || own_calls;
    const bool fails = some_hear ? code != MPI_SUCCESS : form.collective ? met : met_here;
    const long long heard = sum_of_ranks(fails ? 1 : 0);
    if (some_hear) CHECK_IN(told, (heard > 0) == met);
    const int failure = fault.kind == IoFault::Kind::full ? MPI_ERR_NO_SPACE : MPI_ERR_IO;
    const int expected = fails ? failure : MPI_SUCCESS;
    CHECK_IN(told + ", class " + std::to_string(class_of(code)), class_of(code) == expected);
    CHECK_IN(told, handled.calls == (fails ? 1 : 0));
    if (fails) CHECK_IN(told, handled.file == file && handled.error_class == expected);
    const long long moved = moved_bytes(status);
    CHECK_IN(told, fails ? moved >= 0 && moved <= kBytes : moved == kBytes);
    if (form.reads && moved >= 0 && moved <= kBytes)
        CHECK_IN(told, holds_what_is_counted(form, bytes, moved));
    const long long sum = sum_of_ranks(moved);
    if (!form.reads && rank_of_world() == 0) CHECK_IN(told, sum == stored(form, scratch.name()));
    MPI_Barrier(MPI_COMM_WORLD);
    const bool unheard = sparse && !form.reads && heard > 0 && heard < size_of_world();
    const bool late = own_calls && heard > 0 && heard < size_of_world();
    works_again(form, file, scratch,
                {.access = late ? failure : MPI_SUCCESS, .sync = unheard ? failure : MPI_SUCCESS},
                told);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

/// Returns the fault of this rank. With number 0, storage fails for one byte at a third of the
/// data; with 1, for all bytes; with 2, for all bytes on the last rank and for none on the others.
IoFault fault_of(int number, const Form& form) {
    const auto end = static_cast<off_t>(whole());
    const auto kind = form.reads ? IoFault::Kind::fails : IoFault::Kind::full;
    const bool mine = number != 2 || rank_of_world() == size_of_world() - 1;
    const off_t first = number == 0 ? end / 3 : 0, last = number == 0 ? end / 3 + 1 : end;
    return {kind, form.reads, !form.reads, first, mine ? last : first};
}

void storage_fails_under_way(const std::vector<std::string>& methods) {
    int turn = 0;
    for (const std::string& method : methods) {
        for (const Form& form : kForms) {
            // The hints alternate: two aggregators or one per rank, and many rounds or a single
            // one.
            const Hints hints{{"oratorio_method", method},
                              {"oratorio_store", turn % 3 == 0 ? "thread" : "posix"},
                              {"cb_buffer_size", turn % 2 == 0 ? "5000" : "16777216"},
                              {"cb_nodes", turn % 3 == 0 ? "2" : std::to_string(size_of_world())},
                              {"oratorio_cyclic_block", "3000"},
                              {"ind_wr_buffer_size", "5000"},
                              {"ind_rd_buffer_size", "5000"}};
            const int fault = turn % 5 % 3, ending = turn % kEndings;
            access_meets(form, fault_of(fault, form), static_cast<Ending>(ending), hints,
                         std::string(form.name) + ", " + method + ", fault " +
                             std::to_string(fault) + ", ending " + std::to_string(ending));
            ++turn;
        }
    }
}

/// Starts several accesses to the same file, of which one meets a fault. The others succeed.
void only_the_one_that_meets_it_fails(bool collective) {
    constexpr int kAccesses = 9, kBad = 4;
    const ScratchFile scratch;
    const Form& form = kForms[collective ? 4 : 1];
    MPI_File file = open_for(form, scratch, {{"oratorio_method", "list_io"}});
    Bytes bytes = data_of(form, rank_of_world());
    set_io_fault({IoFault::Kind::full, false, true, kBad * whole(), (kBad + 1) * whole()});
    handled = {};
    MPI_Request requests[kAccesses];
    const auto start = collective ? MPI_File_iwrite_at_all : MPI_File_iwrite_at;
    for (int i = 0; i < kAccesses; ++i)
        start(file, MPI_Offset{i} * kBytes, bytes.data(), kBytes, MPI_BYTE, &requests[i]);
    MPI_Status statuses[kAccesses];
    CHECK(MPI_Waitall(kAccesses, requests, statuses) == MPI_ERR_IN_STATUS && handled.calls == 1);
    set_io_fault({});
    for (int i = 0; i < kAccesses; ++i) {
        const int expected = i == kBad ? MPI_ERR_NO_SPACE : MPI_SUCCESS;
        CHECK(class_of(statuses[i].MPI_ERROR) == expected);
        CHECK(moved_bytes(statuses[i]) == (i == kBad ? 0 : kBytes));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    works_again(form, file, scratch, {}, "several");
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Frees the request of an access that fails, so that no call reports the error. The close still
/// waits for the access, and all ranks return.
void a_failed_access_whose_request_was_freed_holds_up_nobody() {
    const ScratchFile scratch;
    const Form& form = kForms[4];
    MPI_File file = open_for(form, scratch, {{"oratorio_method", "two_phase"}});
    Bytes bytes = data_of(form, rank_of_world());
    set_io_fault(fault_of(1, form));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(form.begin(file, bytes.data(), &request) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    set_io_fault({});
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    int level = MPI_THREAD_SINGLE;
    if (argc > 1 && std::string(argv[1]) == "thread") {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    } else {
        MPI_Init(&argc, &argv);
    }
    // mmap is left out, as it copies to a mapping without a system call that could fail; auto may
    // choose it.
    std::vector<std::string> methods = kMethods;
    std::erase(methods, "mmap");
    std::erase(methods, "auto");
    storage_fails_under_way(methods);
    only_the_one_that_meets_it_fails(false);
    only_the_one_that_meets_it_fails(true);
    a_failed_access_whose_request_was_freed_holds_up_nobody();
    const int code = verdict("faults_under_way_test");
    MPI_Finalize();
    return code;
}
