// SPDX-License-Identifier: BSD-3-Clause
/* Checks the results of calls, and the content of the disk, when a disk fails.
 *
 * usage: failing_disk FOLDER SWITCH [CASE...]   "SWITCH FOLDER STATE" makes the disk of the
 * folder good or bad (failing_disk.sh). Prints what is wrong, and exits with 1 if anything is.
 * Every case has a file of its own, and writes ints that encode their round and, except for
 * kAnywhere, their place. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECT "direct_read=true;direct_write=true"

enum { kInts = 65536, kBlock = 250, kCasesMax = 32, kTextMax = 4096 };
/* Rounds of a case: kBefore is the initial content (fill()), the others are the ranks' writes. */
enum { kBefore, kGood, kFailed, kAgain, kLost };

/* The places of a rank's ints: blocks in turn (kTurns), the same with every fifth block owned by no
 * rank (kHoles), one part of the file (kParts), or wherever the shared file pointer puts them
 * (kAnywhere). */
typedef enum { kTurns, kHoles, kParts, kAnywhere } Places;

typedef struct {
    const char* name;
    const char* hints; /* key=value;... */
    Places places;
    int (*write)(MPI_File file, int* data, int count, MPI_Status* status);
    int together; /* the write returns the same class on all ranks */
    int direct;   /* data that a call reports as written is on the disk */
} Case;

static int rank, ranks, failed;
static const char *folder, *command, *phase = "beginning";
static int n; /* number of cases that are run, each with a file */
static const Case* used[kCasesMax];
static MPI_File files[kCasesMax];

static void claim(int holds, const Case* one, const char* format, ...) {
    char text[kTextMax];
    va_list more;
    if (holds) return;
    failed = 1;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    printf("rank %d, %s, %s: %s\n", rank, one->name, phase, text);
    fflush(stdout);
}

static int class_of(int code) {
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static const char* text_of(int code) {
    static char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return text;
}

static int is_told(int code) {
    return class_of(code) == MPI_ERR_IO || class_of(code) == MPI_ERR_READ_ONLY;
}

/* Collective. Requires that `code` is of one class on all ranks, and returns it. */
static int same(const Case* one, const char* call, int code) {
    int mine[2] = {class_of(code), -class_of(code)}, most[2];
    MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    claim(most[0] == -most[1], one, "%s: classes %d to %d, mine: %s", call, -most[1], most[0],
          text_of(code));
    return code;
}

static void must(const Case* one, const char* call, int code) {
    claim(code == MPI_SUCCESS, one, "%s fails: %s", call, text_of(code));
}

static void turn(const char* state) {
    char line[kTextMax];
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(line, sizeof line, "%s %s %s", command, folder, state);
    if (rank == 0 && system(line) != 0) {
        printf("%s fails\n", line);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int value(const Case* one, int place, int round) {
    return round * 1000003 + (one->places == kAnywhere ? 0 : place);
}

static int owner(const Case* one, int place) {
    if (one->places == kParts || one->places == kAnywhere) return place / (kInts / ranks);
    const int who = place / kBlock % (ranks + (one->places == kHoles));
    return who < ranks ? who : -1;
}

static int own_ints(const Case* one, int* data, int round) {
    int count = 0;
    for (int place = 0; place < kInts; ++place)
        if (owner(one, place) == rank) data[count++] = value(one, place, round);
    return count;
}

static int write_all(MPI_File file, int* data, int count, MPI_Status* status) {
    return MPI_File_write_at_all(file, 0, data, count, MPI_INT, status);
}
static int write_one(MPI_File file, int* data, int count, MPI_Status* status) {
    return MPI_File_write_at(file, 0, data, count, MPI_INT, status);
}
static int write_split(MPI_File file, int* data, int count, MPI_Status* status) {
    const int begun = MPI_File_write_at_all_begin(file, 0, data, count, MPI_INT);
    const int ended = MPI_File_write_at_all_end(file, data, status);
    return begun ? begun : ended;
}
static int write_later(MPI_File file, int* data, int count, MPI_Status* status) {
    MPI_Request request;
    const int begun = MPI_File_iwrite_at_all(file, 0, data, count, MPI_INT, &request);
    const int ended = MPI_Wait(&request, status);
    return begun ? begun : ended;
}
static int write_shared(MPI_File file, int* data, int count, MPI_Status* status) {
    int code = MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    for (int i = 0; i < count; i += 128) {
        const int now = MPI_File_write_shared(file, data + i, 128, MPI_INT, status);
        if (!code) code = now;
    }
    return code;
}

static const char* path_of(const Case* one) {
    static char path[kTextMax];
    snprintf(path, sizeof path, "%s/%s", folder, one->name);
    return path;
}

/* Writes the initial content of the file on rank 0, so that its blocks are allocated. */
static void fill(const Case* one) {
    int* all = malloc(sizeof(int) * kInts);
    for (int i = 0; i < kInts; ++i) all[i] = value(one, i, kBefore);
    FILE* file = rank == 0 ? fopen(path_of(one), "w") : NULL;
    if (file) fwrite(all, sizeof(int), kInts, file), fclose(file);
    free(all);
}

static MPI_Info info_of(const Case* one) {
    MPI_Info info;
    char hints[kTextMax], *rest = hints;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    snprintf(hints, sizeof hints, "%s", one->hints);
    for (char* key = strtok_r(rest, "=", &rest); key; key = strtok_r(NULL, "=", &rest))
        MPI_Info_set(info, key, strtok_r(NULL, ";", &rest));
    return info;
}

static MPI_File open_file(const Case* one, MPI_Comm comm) {
    MPI_File file;
    MPI_Datatype block, type;
    MPI_Info info = info_of(one);
    const int blocks = ranks + (one->places == kHoles), is_turned = one->places <= kHoles;
    const MPI_Aint tile = (MPI_Aint)sizeof(int) * (is_turned ? kBlock * blocks : kInts);
    MPI_Offset begin = (MPI_Offset)sizeof(int) * rank * (is_turned ? kBlock : kInts / ranks);
    if (one->places == kAnywhere) begin = 0;
    must(one, "open", MPI_File_open(comm, path_of(one), MPI_MODE_RDWR, info, &file));
    MPI_Type_contiguous(is_turned ? kBlock : kInts, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, tile, &type);
    MPI_Type_commit(&type);
    must(one, "view", MPI_File_set_view(file, begin, MPI_INT, type, "native", info));
    MPI_Type_free(&type);
    MPI_Type_free(&block);
    MPI_Info_free(&info);
    return file;
}

/* Returns how many of this rank's ints on the disk are of `round`. The ints of all ranks must be of
 * `round` or `other`, and ints without an owner must be unchanged. */
static int on_disk(const Case* one, int round, int other) {
    int found = 0, wrong = 0;
    int* all = calloc(kInts, sizeof(int));
    FILE* file = fopen(path_of(one), "r");
    claim(file && fread(all, sizeof(int), kInts, file) == kInts, one, "can't be read");
    for (int i = 0; i < kInts; ++i) {
        const int who = owner(one, i), is_new = all[i] == value(one, i, who < 0 ? kBefore : round);
        found += who == rank && is_new;
        wrong += !is_new && (who < 0 || other < 0 || all[i] != value(one, i, other));
    }
    claim(wrong == 0, one, "%d ints on the disk are wrong", wrong);
    if (file) fclose(file);
    free(all);
    return found;
}

typedef struct {
    int wrote, synced; /* error codes of the write and of the sync */
    int count;         /* ints that the status of the write reports */
} Told;

/* Collective. Writes a round, then syncs if `syncs` is not 0. */
static Told write_round(const Case* one, MPI_File file, int round, int syncs) {
    Told told = {0, 0, 0};
    MPI_Status status;
    int* mine = malloc(sizeof(int) * kInts);
    const int count = own_ints(one, mine, round);
    told.wrote = one->write(file, mine, count, &status);
    if (one->together) same(one, "write", told.wrote);
    MPI_Get_count(&status, MPI_INT, &told.count);
    /* The barrier ensures that all ranks have written before any rank syncs. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (syncs) told.synced = same(one, "sync", MPI_File_sync(file));
    free(mine);
    return told;
}

static void write_good(const Case* one, MPI_File file, int round) {
    const Told told = write_round(one, file, round, 1);
    must(one, "write", told.wrote);
    must(one, "sync", told.synced);
}

/* Writes and syncs twice. Each time the write or the sync must report the error. Returns the larger
 * count. */
static int write_bad(const Case* one, MPI_File file, int round) {
    int most = 0;
    for (int try = 0; try < 2; ++try) {
        const Told told = write_round(one, file, round, 1);
        claim(is_told(told.wrote) || is_told(told.synced), one,
              "try %d: write and sync told no error: %s", try, text_of(told.synced));
        if (one->direct) claim(is_told(told.wrote), one, "the write tells no error");
        if (told.count > most) most = told.count;
    }
    return most;
}

/* Collective. Reads a round. The status must never count more ints than were read. */
static void read_round(const Case* one, MPI_File file, int round, int is_good, int least_errors) {
    MPI_Status status;
    int *right = malloc(sizeof(int) * kInts), *found = calloc(kInts, sizeof(int)), good = 0, told;
    const int count = own_ints(one, right, round);
    const int code = (one->together ? MPI_File_read_at_all : MPI_File_read_at)(
        file, 0, found, count, MPI_INT, &status);
    if (one->together) same(one, "read", code);
    MPI_Get_count(&status, MPI_INT, &told);
    for (int i = 0; i < count; ++i) good += found[i] == right[i];
    claim(told <= good, one, "read counts %d of %d, %d have come", told, count, good);
    claim(!is_good || (!code && good == count && told == count), one, "read gives %d", good);
    int errors = is_told(code);
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    claim(errors >= least_errors, one, "%d ranks are told that they can't read", errors);
    free(right);
    free(found);
}

static const Case cases[] = {
    {"auto", "", kTurns, write_all, 1, 0},
    {"holes", "", kHoles, write_all, 1, 0},
    {"shared_buffer", "oratorio_method=shared_buffer", kHoles, write_all, 1, 0},
    {"shared_data", "oratorio_method=shared_data", kTurns, write_all, 1, 0},
    {"two_phase", "oratorio_method=two_phase", kHoles, write_all, 1, 0},
    {"double_buffer", "oratorio_method=double_buffer", kTurns, write_all, 1, 0},
    {"multithreaded", "oratorio_method=multithreaded", kTurns, write_all, 1, 0},
    {"thread", "oratorio_store=thread", kTurns, write_all, 1, 0},
    {"mmap", "oratorio_method=mmap", kTurns, write_all, 1, 0},
    {"uring", "oratorio_method=two_phase;oratorio_store=uring", kTurns, write_all, 1, 0},
    {"uncached", "oratorio_store=uncached", kTurns, write_all, 1, 1},
    {"split", "", kTurns, write_split, 1, 0},
    {"nonblocking", "", kTurns, write_later, 1, 0},
    {"list_io", "oratorio_method=list_io", kTurns, write_all, 1, 0},
    {"sieve", "oratorio_method=sieve", kHoles, write_one, 0, 0},
    {"pieces", "", kTurns, write_one, 0, 0},
    {"one piece", "", kParts, write_one, 0, 0},
    {"write-behind", "oratorio_shared_write_behind=65536", kAnywhere, write_shared, 0, 0},
    {"direct", DIRECT, kTurns, write_all, 1, 1},
    {"direct shared_buffer", "oratorio_method=shared_buffer;" DIRECT, kTurns, write_all, 1, 1},
    {"direct posix", "oratorio_store=posix;" DIRECT, kTurns, write_all, 1, 1},
};
enum { kCases = sizeof cases / sizeof *cases };

static int is_chosen(const char* name, char** chosen) {
    int is = !*chosen;
    while (*chosen) is |= strcmp(name, *chosen++) == 0;
    return is;
}

/* Returns 1 if lose() loses the last write of the case: its data is cached, and the disk is good
 * again before any rank syncs. Records of write-behind are written only by the sync itself, and
 * direct writes by the call itself, so neither is lost. */
static int is_lost(const Case* one) {
    return !one->direct && one->places != kAnywhere;
}

static void lose(void) {
    for (int i = 0; i < n; ++i) {
        files[i] = open_file(used[i], MPI_COMM_WORLD);
        write_good(used[i], files[i], kAgain);
        must(used[i], "write", write_round(used[i], files[i], kLost, 0).wrote);
    }
    turn("no-writes");
    turn("flush");
    turn("good");
}

static void on_good_disk(void) {
    phase = "good disk";
    for (int i = 0; i < n; ++i) {
        files[i] = open_file(used[i], MPI_COMM_WORLD);
        write_good(used[i], files[i], kGood);
    }
    turn("forget");
    for (int i = 0; i < n; ++i) on_disk(used[i], kGood, -1);
    turn("forget");
    for (int i = 0; i < n; ++i) read_round(used[i], files[i], kGood, 1, 0);
}

static void reads_fail(void) {
    turn("forget");
    turn("none");
    phase = "no reads";
    for (int i = 0; i < n; ++i) read_round(used[i], files[i], kGood, 0, ranks);
    turn("half");
    phase = "half of the reads";
    for (int i = 0; i < n; ++i) read_round(used[i], files[i], kGood, 0, 1);
    turn("good");
    phase = "reads are good again";
    for (int i = 0; i < n; ++i) read_round(used[i], files[i], kGood, 1, 0);
}

static void writes_fail(void) {
    int counts[kCasesMax];
    turn("no-writes");
    phase = "no writes";
    for (int i = 0; i < n; ++i) counts[i] = write_bad(used[i], files[i], kFailed);
    turn("good");
    for (int i = 0; i < n; ++i) same(used[i], "close", MPI_File_close(&files[i]));
    turn("anew");
    phase = "after no writes";
    for (int i = 0; i < n; ++i) {
        const int found = on_disk(used[i], kFailed, kGood);
        if (used[i]->direct)
            claim(counts[i] <= found, used[i], "%d counted, %d on the disk", counts[i], found);
    }
}

static void writes_fail_later(void) {
    int is_error[kCasesMax];
    phase = "lost before the sync";
    lose();
    for (int i = 0; i < n; ++i) {
        const int code = same(used[i], "sync", MPI_File_sync(files[i]));
        is_error[i] = is_told(code);
        if (is_lost(used[i])) claim(is_error[i], used[i], "sync: %s", text_of(code));
        MPI_File_close(&files[i]);
    }
    turn("anew");
    for (int i = 0; i < n; ++i) on_disk(used[i], kLost, is_error[i] ? kAgain : -1);

    phase = "lost before the close";
    lose();
    for (int i = 0; i < n; ++i) {
        const int code = same(used[i], "close", MPI_File_close(&files[i]));
        if (is_lost(used[i])) claim(is_told(code), used[i], "close: %s", text_of(code));
    }
    turn("anew");
}

/* Checks that the sync of each handle reports the loss, whichever handle wrote and whichever is
 * synced first. */
static void several_handles(const Case* one) {
    phase = "several handles";
    MPI_File second = open_file(one, MPI_COMM_WORLD), own = open_file(one, MPI_COMM_SELF);
    n = 1;
    lose();
    const int codes[] = {MPI_File_sync(own), same(one, "sync", MPI_File_sync(second)),
                         same(one, "sync", MPI_File_sync(files[0]))};
    for (int i = 0; i < 3; ++i) claim(is_told(codes[i]), one, "sync %d: %s", i, text_of(codes[i]));
    MPI_File_close(&own);
    MPI_File_close(&second);
    MPI_File_close(&files[0]);
    turn("anew");
}

int main(int argc, char** words) {
    MPI_Init(&argc, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    folder = words[1], command = words[2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        if (is_chosen(cases[i].name, words + 3)) used[n++] = &cases[i];
    for (int i = 0; i < n; ++i) fill(used[i]);
    turn("flush");
    on_good_disk();
    reads_fail();
    writes_fail();
    writes_fail_later();
    if (rank == 0) printf("%d cases\n", n);
    several_handles(used[0]);
    MPI_Finalize();
    return failed;
}
