// SPDX-License-Identifier: BSD-3-Clause
// While a thread waits in a collective call, other threads use the same handle: the other ranks may
// enter the collective call only after that (MPI-4.1, 11.6.1: a blocking call blocks only its own
// thread). Rank 0 makes the collective call in a thread and an independent call beside it, and only
// then tells the other rank to make the collective call. The test is a plain MPI program for two
// ranks; it hangs if the independent call waits for the collective one.
#include <unistd.h>

#include <functional>
#include <thread>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kBytes = 3000;
constexpr MPI_Offset kTogether = 1 << 20;  // place of the collective accesses
constexpr MPI_Offset kSize = 2 << 20;

struct Call {
    const char* name;
    std::function<void(MPI_File)> make;
};

Bytes data_of(int salt) {
    Bytes data(kBytes);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = pattern(i, static_cast<std::uint64_t>(salt));
    return data;
}

MPI_Offset place_together() {
    return kTogether + MPI_Offset{kBytes} * rank_of_world();
}

void check_written(MPI_File file, MPI_Offset at, const Bytes& data) {
    Bytes back(data.size());
    CHECK(MPI_File_read_at(file, at, back.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(back == data);
}

void complete(int started, MPI_Request& request) {
    CHECK(started == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

const Call kCollective[] = {
    {"write_at_all",
     [](MPI_File file) {
         const Bytes data = data_of(1);
         CHECK(MPI_File_write_at_all(file, place_together(), data.data(), kBytes, MPI_BYTE,
                                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
         check_written(file, place_together(), data);
     }},
    {"read_at_all",
     [](MPI_File file) {
         Bytes back(kBytes);
         CHECK(MPI_File_read_at_all(file, place_together(), back.data(), kBytes, MPI_BYTE,
                                    MPI_STATUS_IGNORE) == MPI_SUCCESS);
         CHECK(back == data_of(1));
     }},
    {"write_at_all_begin and end",
     [](MPI_File file) {
         const Bytes data = data_of(2);
         CHECK(MPI_File_write_at_all_begin(file, place_together(), data.data(), kBytes, MPI_BYTE) ==
               MPI_SUCCESS);
         CHECK(MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE) == MPI_SUCCESS);
     }},
    {"iwrite_at_all",
     [](MPI_File file) {
         const Bytes data = data_of(3);
         MPI_Request request;
         complete(MPI_File_iwrite_at_all(file, place_together(), data.data(), kBytes, MPI_BYTE,
                                         &request),
                  request);
     }},
    {"read_ordered",
     [](MPI_File file) {
         Bytes back(kBytes);
         CHECK(MPI_File_read_ordered(file, back.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
     }},
    {"seek_shared",
     [](MPI_File file) { CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS); }},
    {"sync", [](MPI_File file) { CHECK(MPI_File_sync(file) == MPI_SUCCESS); }},
    {"set_atomicity", [](MPI_File file) { CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS); }},
    {"set_size", [](MPI_File file) { CHECK(MPI_File_set_size(file, kSize) == MPI_SUCCESS); }},
    {"preallocate", [](MPI_File file) { CHECK(MPI_File_preallocate(file, kSize) == MPI_SUCCESS); }},
    {"set_view",
     [](MPI_File file) {
         CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) ==
               MPI_SUCCESS);
     }},
};

const Call kIndependent[] = {
    {"write_at and read_at",
     [](MPI_File file) {
         const Bytes data = data_of(10);
         CHECK(MPI_File_write_at(file, 5, data.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
         check_written(file, 5, data);
     }},
    {"iwrite_at and iread_at",
     [](MPI_File file) {
         const Bytes data = data_of(11);
         Bytes back(data.size());
         MPI_Request request;
         complete(MPI_File_iwrite_at(file, 7, data.data(), kBytes, MPI_BYTE, &request), request);
         complete(MPI_File_iread_at(file, 7, back.data(), kBytes, MPI_BYTE, &request), request);
         CHECK(back == data);
     }},
    {"read_shared",
     [](MPI_File file) {
         Bytes back(kBytes);
         CHECK(MPI_File_read_shared(file, back.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
     }},
    {"get_size",
     [](MPI_File file) {
         MPI_Offset size = 0;
         CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS);
         CHECK(size == kSize);
     }},
};

void run_beside(MPI_File file, const Call& together, const Call& alone) {
    if (rank_of_world() == 0) {
        std::thread thread([&] { together.make(file); });
        ::usleep(5000);  // the thread is most likely waiting in its call by now
        alone.make(file);
        MPI_Send(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        thread.join();
    } else {
        MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        together.make(file);
    }
}

void run() {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                              {{"romio_synchronized_flush", "true"}});
    CHECK(MPI_File_set_size(file, kSize) == MPI_SUCCESS);
    for (const Call& together : kCollective) {
        for (const Call& alone : kIndependent) {
            if (rank_of_world() == 0)
                std::printf("let_in: %s beside %s\n", alone.name, together.name);
            run_beside(file, together, alone);
        }
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Makes collective accesses in one thread and independent ones in another, without any order.
void run_at_once(const Hints& hints) {
    constexpr int kTimes = 100;
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    std::thread thread([&] {
        for (int time = 0; time < kTimes; ++time) {
            kCollective[0].make(file);
            kCollective[1].make(file);
        }
    });
    const MPI_Offset mine = MPI_Offset{kBytes} * rank_of_world();
    for (int time = 0; time < kTimes; ++time) {
        const Bytes data = data_of(20 + time);
        MPI_Request request;
        CHECK(MPI_File_write_at(file, mine, data.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        check_written(file, mine, data);
        complete(MPI_File_iwrite_at(file, mine + kSize, data.data(), kBytes, MPI_BYTE, &request),
                 request);
        check_written(file, mine + kSize, data);
    }
    thread.join();
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level == MPI_THREAD_MULTIPLE) {
        oratorio::test::run();
        for (const char* method : {"list_io", "two_phase", "shared_buffer"}) {
            for (const char* store : {"posix", "thread"})
                oratorio::test::run_at_once(
                    {{"oratorio_method", method}, {"oratorio_store", store}});
        }
        oratorio::test::run_at_once({{"oratorio_method", "data_shipping"}});
    }
    const int result = oratorio::test::verdict("let_in");
    MPI_Finalize();
    return result;
}
