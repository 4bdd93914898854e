/* Makes the disk fail on command: loaded into a server with LD_PRELOAD.
 *
 * FAILING_DISK_ROOT names the directory, FAILING_DISK_CONTROL a file that both sides map into memory:
 *
 *   bytes 0-3   the error that calls fail with (ENOSPC, EIO, EROFS); 0 for a disk that works
 *   bytes 4-7   how many calls still succeed first
 *   bytes 8-11  which calls: 1 those that write, 2 those that sync, 3 both
 *
 * Calls fail that write to, lengthen, create or sync files below the directory. A failing write of more than one byte
 * first writes half of its bytes in every second case, as a full disk does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

struct control {
    atomic_int error, successes_left, calls;
};
enum { WRITING = 1, SYNCING = 2 };

static struct control *control;
static const char *root;

__attribute__((constructor)) static void start(void) {
    const char *file = getenv("FAILING_DISK_CONTROL");
    root = getenv("FAILING_DISK_ROOT");
    int fd = file == NULL ? -1 : open(file, O_RDWR | O_CLOEXEC);
    if (fd < 0 || root == NULL)
        return;
    void *shared = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED)
        control = shared;
    close(fd);
}

static int is_below_root(const char *path) { return strncmp(path, root, strlen(root)) == 0; }

static int is_descriptor_below_root(int fd) {
    char link[64], path[4096] = {0};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && is_below_root(path);
}

/* The error that a call of this kind fails with now, or 0. */
static int failure(int kind) {
    if (control == NULL || atomic_load(&control->error) == 0 || !(atomic_load(&control->calls) & kind))
        return 0;
    if (atomic_load(&control->successes_left) > 0 && atomic_fetch_sub(&control->successes_left, 1) > 0)
        return 0;
    return atomic_load(&control->error);
}

static int fails(int kind, int fd) {
    if (control == NULL || atomic_load(&control->error) == 0 || !is_descriptor_below_root(fd))
        return 0;
    errno = failure(kind);
    return errno != 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    static atomic_int turn;
    if (real == NULL)
        real = REAL(write);
    if (fails(WRITING, fd)) {
        int error = errno;
        if (count > 1 && atomic_fetch_add(&turn, 1) % 2 == 0)
            return real(fd, bytes, count / 2);
        errno = error;
        return -1;
    }
    return real(fd, bytes, count);
}

int fsync(int fd) { return fails(SYNCING, fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(SYNCING, fd) ? -1 : REAL(fdatasync)(fd); }
int ftruncate64(int fd, off64_t length) { return fails(WRITING, fd) ? -1 : REAL(ftruncate64)(fd, length); }
int ftruncate(int fd, off_t length) { return fails(WRITING, fd) ? -1 : REAL(ftruncate)(fd, length); }

static int creation_fails(const char *path, int flags) {
    if (control == NULL || !(flags & O_CREAT) || !is_below_root(path))
        return 0;
    errno = failure(WRITING);
    return errno != 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return creation_fails(path, flags) ? -1 : REAL(name)(path, flags, mode);                                       \
    }
OPEN(open64)
#undef open
OPEN(open)
