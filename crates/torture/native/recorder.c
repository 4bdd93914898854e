/* Runs a program and writes down what it does to the files below one directory, in the order in which it happened.
 *
 *     recorder LOG DIRECTORY PROGRAM ARGUMENT...
 *
 * Why a tracer and not a wrapped C library: part of the storage engine makes system calls without one. A filter in the
 * kernel stops the program only at the calls of interest.
 *
 * The log is a sequence of records, each "KIND NUMBER NUMBER NUMBER LENGTH LENGTH\n" and then two byte strings of these
 * lengths. A record is in the log before the program continues, so its record is there before an effect of a call is visible.
 *
 *   open      fd, flags, 0        path, ""       after it succeeded
 *   dup       old fd, new fd, 0                  after it succeeded
 *   close     fd, 0, 0                           before it happens: the number may be given out again at once
 *   write     fd, offset, 0       data, ""       after it succeeded, as much as was written
 *   truncate  fd, length, 0                      after it succeeded
 *   sync      fd, thread, 0                      before fsync and fdatasync
 *   synced    fd, thread, 0                      after they succeeded
 *   rename    0, 0, 0             from, to       after it succeeded
 *   link      0, 0, 0             from, to       after it succeeded
 *   unlink    0, 0, 0             path, ""       after it succeeded, also of a directory
 *   mkdir     0, 0, 0             path, ""       after it succeeded
 *   unknown   number of the call, 0, 0           a call that changes files and is not supported here
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
              PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL
};

#define FDS 65536
#define THREADS 1024
#define PATH_BYTES 8192

static const long watched[] = {
    SYS_openat, SYS_close, SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_ftruncate, SYS_truncate,
    SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_sync_file_range, SYS_syncfs, SYS_sync, SYS_renameat2, SYS_unlinkat,
    SYS_mkdirat, SYS_linkat, SYS_symlinkat, SYS_mmap, SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_fcntl, SYS_dup,
    SYS_dup3, SYS_openat2,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_open
    SYS_open, SYS_creat, SYS_rename, SYS_unlink, SYS_rmdir, SYS_mkdir, SYS_link, SYS_symlink, SYS_dup2,
#endif
};

struct call {
    pid_t thread;
    long number;
    uint64_t arguments[6];
};

static struct call calls[THREADS];
static char tracked[FDS];
static const char *root;
static FILE *out;
static pid_t program;

static void fail(const char *what) {
    fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
    exit(70);
}

static void record(const char *kind, long a, long b, long c, const void *first, size_t first_bytes, const void *second,
                   size_t second_bytes) {
    fprintf(out, "%s %ld %ld %ld %zu %zu\n", kind, a, b, c, first_bytes, second_bytes);
    fwrite(first, 1, first_bytes, out);
    fwrite(second, 1, second_bytes, out);
    if (fflush(out) != 0)
        fail("writing the log");
}

static int is_tracked(uint64_t fd) { return fd < FDS && tracked[fd]; }

static int is_below_root(const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* The absolute path that a call names, as far as it can be told from the directory's descriptor and the text. */
static void path_argument(int directory, uint64_t address, char *path) {
    char text[4096] = {0};
    /* In two parts, because the page after the text may not be there; whole parts are read as far as possible. */
    size_t first = 4096 - address % 4096;
    struct iovec local = {text, sizeof text - 1};
    struct iovec remote[] = {{(void *)address, first}, {(void *)(address + first), sizeof text - 1 - first}};
    if (process_vm_readv(program, &local, 1, remote, first < sizeof text - 1 ? 2 : 1, 0) < 0)
        fail("reading a path");
    if (text[0] == '/') {
        snprintf(path, PATH_BYTES, "%s", text);
        return;
    }
    char link[64], folder[PATH_BYTES / 2] = {0};
    if (directory == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", program);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", program, directory);
    if (readlink(link, folder, sizeof folder - 1) < 0)
        folder[0] = 0;
    snprintf(path, PATH_BYTES, "%s/%s", folder, text);
}

static void record_path(const char *kind, int directory, uint64_t address) {
    char path[PATH_BYTES];
    path_argument(directory, address, path);
    if (is_below_root(path))
        record(kind, 0, 0, 0, path, strlen(path), "", 0);
}

static void record_open(long fd, int directory, uint64_t address, long flags) {
    char path[PATH_BYTES];
    path_argument(directory, address, path);
    if (fd < 0 || fd >= FDS)
        return;
    tracked[fd] = is_below_root(path);
    if (tracked[fd])
        record("open", fd, flags, 0, path, strlen(path), "", 0);
}

static void record_names(const char *kind, int from_directory, uint64_t from_address, int to_directory, uint64_t to_address) {
    char from[PATH_BYTES], to[PATH_BYTES];
    path_argument(from_directory, from_address, from);
    path_argument(to_directory, to_address, to);
    if (is_below_root(from) || is_below_root(to))
        record(kind, 0, 0, 0, from, strlen(from), to, strlen(to));
}

static void record_dup(long old, long new) {
    if (old < 0 || old >= FDS || new < 0 || new >= FDS)
        return;
    tracked[new] = tracked[old];
    if (tracked[new])
        record("dup", old, new, 0, "", 0, "", 0);
}

/* Where the descriptor stands after a write that moved it. */
static long position(long fd) {
    char name[64], text[256] = {0};
    long where = -1;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%ld", program, fd);
    FILE *info = fopen(name, "r");
    if (info == NULL || fread(text, 1, sizeof text - 1, info) == 0 || sscanf(text, "pos: %ld", &where) != 1)
        fail("reading a position");
    fclose(info);
    return where;
}

static void record_write(long fd, uint64_t address, long bytes, long offset) {
    char *data = malloc(bytes);
    struct iovec local = {data, bytes}, remote = {(void *)address, bytes};
    if (data == NULL || process_vm_readv(program, &local, 1, &remote, 1, 0) != bytes)
        fail("reading what was written");
    record("write", fd, offset, 0, data, bytes, "", 0);
    free(data);
}

static void record_unknown(const struct call *call) { record("unknown", call->number, 0, 0, "", 0, "", 0); }

static void before(const struct call *call) {
    long fd = call->arguments[0];
    if (call->number == SYS_close && is_tracked(fd)) {
        tracked[fd] = 0;
        record("close", fd, 0, 0, "", 0, "", 0);
    }
    if ((call->number == SYS_fsync || call->number == SYS_fdatasync) && is_tracked(fd))
        record("sync", fd, call->thread, 0, "", 0, "", 0);
}

static void after(const struct call *call, long result) {
    const uint64_t *a = call->arguments;
    long fd = a[0];
    if (result < 0)
        return;
    switch (call->number) {
    case SYS_openat:
        return record_open(result, (int)a[0], a[1], a[2]);
    case SYS_write:
        return is_tracked(fd) ? record_write(fd, a[1], result, position(fd) - result) : (void)0;
    case SYS_pwrite64:
        return is_tracked(fd) ? record_write(fd, a[1], result, a[3]) : (void)0;
    case SYS_ftruncate:
        return is_tracked(fd) ? record("truncate", fd, a[1], 0, "", 0, "", 0) : (void)0;
    case SYS_fsync:
    case SYS_fdatasync:
        return is_tracked(fd) ? record("synced", fd, call->thread, 0, "", 0, "", 0) : (void)0;
    case SYS_renameat2:
        return record_names("rename", (int)a[0], a[1], (int)a[2], a[3]);
    case SYS_linkat:
        return record_names("link", (int)a[0], a[1], (int)a[2], a[3]);
    case SYS_unlinkat:
        return record_path("unlink", (int)a[0], a[1]);
    case SYS_mkdirat:
        return record_path("mkdir", (int)a[0], a[1]);
    case SYS_fcntl:
        return a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC ? record_dup(fd, result) : (void)0;
    case SYS_dup:
    case SYS_dup3:
        return record_dup(fd, result);
#ifdef SYS_renameat
    case SYS_renameat:
        return record_names("rename", (int)a[0], a[1], (int)a[2], a[3]);
#endif
#ifdef SYS_open
    case SYS_open:
        return record_open(result, AT_FDCWD, a[0], a[1]);
    case SYS_rename:
        return record_names("rename", AT_FDCWD, a[0], AT_FDCWD, a[1]);
    case SYS_link:
        return record_names("link", AT_FDCWD, a[0], AT_FDCWD, a[1]);
    case SYS_unlink:
    case SYS_rmdir:
        return record_path("unlink", AT_FDCWD, a[0]);
    case SYS_mkdir:
        return record_path("mkdir", AT_FDCWD, a[0]);
    case SYS_dup2:
        return record_dup(fd, result);
#endif
    case SYS_mmap:
        if (is_tracked(a[4]) && (a[2] & PROT_WRITE) && (a[3] & MAP_SHARED))
            record_unknown(call);
        return;
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_fallocate:
        if (is_tracked(fd))
            record_unknown(call);
        return;
    case SYS_copy_file_range:
    case SYS_splice:
        if (is_tracked(a[2]))
            record_unknown(call);
        return;
    case SYS_sendfile:
        if (is_tracked(fd))
            record_unknown(call);
        return;
    case SYS_close:
    case SYS_sync_file_range: /* Promises nothing about a power cut. */
        return;
    default:
        record_unknown(call);
    }
}

static struct call *call_of(pid_t thread) {
    struct call *free_slot = NULL;
    for (int i = 0; i < THREADS; i++) {
        if (calls[i].thread == thread)
            return &calls[i];
        if (calls[i].thread == 0 && free_slot == NULL)
            free_slot = &calls[i];
    }
    if (free_slot == NULL)
        fail("too many threads");
    free_slot->thread = thread;
    return free_slot;
}

/* A call of interest is about to happen, or has just happened. */
static void at_call(pid_t thread) {
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info) <= 0)
        return;
    struct call *call = call_of(thread);
    if (info.op == PTRACE_SYSCALL_INFO_SECCOMP) {
        call->number = info.seccomp.nr;
        memcpy(call->arguments, info.seccomp.args, sizeof call->arguments);
        before(call);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        after(call, info.exit.rval);
        call->thread = 0;
    }
}

static void install_filter(void) {
    enum { CALLS = sizeof watched / sizeof watched[0] };
    struct sock_filter filter[CALLS + 3];
    int n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++)
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, watched[i], CALLS - i, 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog code = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code) != 0)
        fail("installing the filter");
}

static void run_program(char **arguments) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
        fail("being traced");
    raise(SIGSTOP);
    install_filter();
    execvp(arguments[0], arguments);
    fail(arguments[0]);
}

/* Ends with the program, and as it did. */
static void follow(void) {
    for (;;) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0)
            exit(0);
        if (!WIFSTOPPED(status)) {
            call_of(thread)->thread = 0;
            if (thread == program)
                exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_SECCOMP) {
            at_call(thread);
            ptrace(PTRACE_SYSCALL, thread, 0, 0);
        } else if (signal == (SIGTRAP | 0x80)) {
            at_call(thread);
            ptrace(PTRACE_CONT, thread, 0, 0);
        } else {
            int own = event != 0 || signal == SIGSTOP || signal == SIGTRAP;
            ptrace(PTRACE_CONT, thread, 0, own ? 0 : signal);
        }
    }
}

int main(int count, char **arguments) {
    if (count < 4)
        return 64;
    out = fopen(arguments[1], "w");
    root = arguments[2];
    if (out == NULL)
        fail(arguments[1]);
    setvbuf(out, NULL, _IOFBF, 1 << 20);
    fcntl(fileno(out), F_SETFD, FD_CLOEXEC);
    program = fork();
    if (program < 0)
        fail("fork");
    if (program == 0)
        run_program(arguments + 3);
    int status;
    if (waitpid(program, &status, __WALL) != program || !WIFSTOPPED(status))
        fail("starting the program");
    if (ptrace(PTRACE_SETOPTIONS, program, 0, OPTIONS) != 0 || ptrace(PTRACE_CONT, program, 0, 0) != 0)
        fail("tracing");
    follow();
}
