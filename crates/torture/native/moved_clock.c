/* Moves the system's clock for one process: loaded into a server with LD_PRELOAD.
 *
 * MOVED_CLOCK_CONTROL names a file that both sides map into memory: eight bytes, the seconds by which the clock is ahead of the
 * real time. Clocks that only measure how long something takes are left alone, as they are when an administrator sets the time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static atomic_llong *ahead;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void start(void) {
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *file = getenv("MOVED_CLOCK_CONTROL");
    int fd = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *shared = mmap(NULL, sizeof(atomic_llong), PROT_READ, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED)
        ahead = shared;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *time) {
    if (real_clock_gettime == NULL)
        start();
    int result = real_clock_gettime(id, time);
    if (result == 0 && ahead != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        time->tv_sec += atomic_load(ahead);
    return result;
}
