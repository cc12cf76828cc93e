// SPDX-License-Identifier: BSD-3-Clause
/* Runs the rules named on the command line, or lists all rules.
 *
 *   conformance --list                         without a launcher: a line per rule
 *   LAUNCHER conformance FOLDER SECONDS ID...  on all ranks; FOLDER is seen by all
 *
 * Rank 0 prints "@mpi VERSION", then a line before and after each rule: "@begin ID" and
 * "@end ID RESULT MESSAGE", RESULT being ok, wrong or unavailable. "@done" follows MPI_Finalize.
 * SIGALRM ends a rank that is in the same rule for SECONDS, in a long rule for kLongFactor times
 * SECONDS.
 */
#include "frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

enum { kLongFactor = 30 };

static MPI_Comm results = MPI_COMM_NULL; /* communicator of the frame, which no rule uses */

static void tell_library(void) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    printf("@mpi %s\n", text);
    fflush(stdout);
}

static const Rule* find_rule(const char* id) {
    for (int table = 0; table < kTables; table++) {
        for (int row = 0; row < kRuleTables[table]->count; row++) {
            const Rule* rule = &kRuleTables[table]->rules[row];
            if (strcmp(rule->id, id) == 0) {
                return rule;
            }
        }
    }
    return NULL;
}

static void list_rules(void) {
    static const char* const kKinds[] = {"usual", "finalize", "long", "selftest"};
    for (int table = 0; table < kTables; table++) {
        for (int row = 0; row < kRuleTables[table]->count; row++) {
            const Rule* rule = &kRuleTables[table]->rules[row];
            printf("%s\t%s\t%d\t%s\t%s\t%s\n", rule->section, rule->id, rule->ranks,
                   kKinds[rule->kind], rule->routines, rule->sentence);
        }
    }
}

/* Collective. Prints on rank 0 the worst result of all ranks, with the message of the first rank
 * that has this result. */
static void tell(const Test* t) {
    int mine[2] = {t->is_wrong ? 0 : t->is_unavailable ? 1 : 2, t->rank};
    int worst[2];
    char message[kMessageBytes];
    MPI_Allreduce(mine, worst, 1, MPI_2INT, MPI_MINLOC, results);
    memcpy(message, t->message, sizeof message);
    MPI_Bcast(message, sizeof message, MPI_CHAR, worst[1], results);
    if (t->rank != 0) {
        return;
    }
    static const char* const kResults[] = {"wrong", "unavailable", "ok"};
    const char* const id = t->rule->id;
    if (worst[0] == 0) {
        printf("@end %s wrong rank %d: %s\n", id, worst[1], message);
    } else {
        printf("@end %s %s %s\n", id, kResults[worst[0]], worst[0] == 1 ? message : "");
    }
    fflush(stdout);
}

static void remove_files(const Test* t) {
    if (t->rank == 0) {
        unlink(t->path);
        unlink(t->other);
    }
    MPI_Barrier(results);
}

static void run_rule(const Rule* rule, const char* folder, unsigned seconds) {
    Test t = {.rule = rule};
    MPI_Comm_rank(results, &t.rank);
    MPI_Comm_size(results, &t.size);
    snprintf(t.path, sizeof t.path, "%s/%s.dat", folder, rule->id);
    snprintf(t.other, sizeof t.other, "%s/%s.other.dat", folder, rule->id);
    if (t.rank == 0) {
        printf("@begin %s\n", rule->id);
        fflush(stdout);
    }
    alarm(rule->kind == kLong ? kLongFactor * seconds : seconds);
    MPI_Comm_dup(results, &t.comm);
    remove_files(&t);
    if (t.size < rule->ranks) {
        snprintf(t.message, sizeof t.message, "needs %d ranks", rule->ranks);
        t.is_unavailable = 1;
    } else {
        rule->run(&t);
    }
    tell(&t);
    remove_files(&t);
    MPI_Comm_free(&t.comm);
    alarm(0);
}

typedef struct {
    char** ids;
    int count;
    const char* folder;
    unsigned seconds;
} Request;

static void run_kind(const Request* request, int at_finalize) {
    for (int i = 0; i < request->count; i++) {
        const Rule* rule = find_rule(request->ids[i]);
        if (rule && (rule->kind == kAtFinalize) == at_finalize) {
            run_rule(rule, request->folder, request->seconds);
        }
    }
}

static int run_at_finalize(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm, (void)key, (void)extra;
    run_kind(value, 1);
    return MPI_SUCCESS;
}

/* Arranges that the kAtFinalize rules run in a callback of MPI_Finalize, where every file routine
 * may be called (MPI-4.1, 11.2.4). */
static void arrange_finalize(Request* request) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run_at_finalize, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, request);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_rules();
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: conformance --list | conformance FOLDER SECONDS ID...\n");
        return 2;
    }
    int provided;
    int rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &results);
    MPI_Comm_rank(results, &rank);
    if (rank == 0) {
        tell_library();
    }
    Request request = {argv + 3, argc - 3, argv[1], (unsigned)atoi(argv[2])};
    run_kind(&request, 0);
    arrange_finalize(&request);
    MPI_Finalize();
    if (rank == 0) {
        printf("@done\n");
    }
    return 0;
}
