/*
 * A disk between a process and the kernel, by LD_PRELOAD. Everything below DISK_DIR:
 *
 *   DISK_LOG=FILE     every operation in order, one line each: NUMBER KIND PATH OFFSET EXTRA HEX
 *                     C create, W write, S sync, R rename, U remove, M make folder, T truncate, A what leaves on a socket
 *   DISK_FAULT=FILE   while FILE holds "ERRNO KINDS", operations of these kinds fail with it
 *   DISK_CLOCK=FILE   while FILE holds a number, the wall clock is so many seconds away
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* glibc makes macros of these two. */
#undef fwrite_unlocked
#undef fflush_unlocked

#define FILES 65536
#define STREAMS 1024

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char *path_of[FILES];
static int64_t offset_of[FILES];
struct stream { FILE *file; char *path, *bytes; size_t count, room; int64_t offset; };
static struct stream streams[STREAMS];
static const char *dir, *fault_path, *clock_path;
static int log_file = -1;
static long number;

#define REAL(type, name, ...) static type (*real_##name)(__VA_ARGS__);
REAL(FILE *, fopen64, const char *, const char *)
REAL(size_t, fwrite_unlocked, const void *, size_t, size_t, FILE *)
REAL(int, fflush_unlocked, FILE *)
REAL(int, fclose, FILE *)
REAL(int, fdatasync, int)
REAL(int, fsync, int)
REAL(int, rename, const char *, const char *)
REAL(int, unlink, const char *)
REAL(int, rmdir, const char *)
REAL(int, mkdir, const char *, mode_t)
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t)
REAL(int, ftruncate64, int, off64_t)
REAL(int, close, int)
REAL(int, open64, const char *, int, ...)
REAL(int, gettimeofday, struct timeval *, void *)
REAL(int, clock_gettime, clockid_t, struct timespec *)

static void init(void) {
  static int is_done;
  if (is_done) return;
  is_done = 1;
#define GET(name) real_##name = dlsym(RTLD_NEXT, #name);
  GET(fopen64) GET(fwrite_unlocked) GET(fflush_unlocked) GET(fclose) GET(fdatasync) GET(fsync) GET(rename)
  GET(unlink) GET(rmdir) GET(mkdir) GET(write) GET(writev) GET(pwrite64) GET(pwritev64) GET(ftruncate64)
  GET(close) GET(open64) GET(gettimeofday) GET(clock_gettime)
  dir = getenv("DISK_DIR");
  fault_path = getenv("DISK_FAULT");
  clock_path = getenv("DISK_CLOCK");
  const char *log = getenv("DISK_LOG");
  if (log) log_file = real_open64(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}
__attribute__((constructor)) static void start(void) { init(); }

static int is_ours(const char *path) {
  return dir && path && !strncmp(path, dir, strlen(dir)) && !strstr(path, "/LOG") && !strstr(path, "/LOCK");
}

/* Whether this operation is to fail; errno says how. */
static int fails(char kind) {
  char text[64] = "", kinds[32] = "";
  int error = 0, file = fault_path ? real_open64(fault_path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  ssize_t count = read(file, text, sizeof text - 1);
  real_close(file);
  if (count <= 0 || sscanf(text, "%d %31s", &error, kinds) != 2 || !strchr(kinds, kind)) return 0;
  errno = error;
  return 1;
}

static int note(char kind, const char *path, int64_t offset, const char *extra, const void *data, size_t count) {
  if (kind != 'A' && fails(kind)) return 1;
  number += 1;
  if (log_file < 0) return 0;
  static const char hex[] = "0123456789abcdef";
  char *line = malloc(strlen(path) + strlen(extra) + 2 * count + 96);
  int at = sprintf(line, "%ld\t%c\t%s\t%lld\t%s\t", number, kind, path, (long long)offset, extra);
  for (size_t i = 0; i < count; i++) {
    line[at++] = hex[((const unsigned char *)data)[i] >> 4];
    line[at++] = hex[((const unsigned char *)data)[i] & 15];
  }
  line[at++] = '\n';
  if (real_write(log_file, line, at) != at) abort();
  free(line);
  return 0;
}

#define LOCKED pthread_mutex_lock(&lock)
#define UNLOCKED pthread_mutex_unlock(&lock)

static struct stream *stream_of(FILE *file) {
  for (int i = 0; i < STREAMS; i++) if (streams[i].file == file) return &streams[i];
  return 0;
}

FILE *fopen64(const char *path, const char *mode) {
  init();
  if (!is_ours(path) || mode[0] == 'r') return real_fopen64(path, mode);
  LOCKED;
  FILE *file = note('C', path, 0, mode[0] == 'a' && !access(path, F_OK) ? "a" : "w", 0, 0) ? 0 : real_fopen64(path, mode);
  struct stream *free_one = file ? stream_of(0) : 0;
  if (free_one) {
    struct stat found;
    setvbuf(file, 0, _IOFBF, 1 << 20);
    *free_one = (struct stream){file, strdup(path), 0, 0, 0, mode[0] == 'a' && !fstat(fileno(file), &found) ? found.st_size : 0};
  }
  UNLOCKED;
  return file;
}

size_t fwrite_unlocked(const void *data, size_t size, size_t count, FILE *file) {
  init();
  LOCKED;
  struct stream *one = stream_of(file);
  if (one) {
    size_t more = size * count;
    if (one->count + more > one->room) one->bytes = realloc(one->bytes, one->room = 2 * (one->count + more) + 4096);
    memcpy(one->bytes + one->count, data, more);
    one->count += more;
  }
  size_t done = real_fwrite_unlocked(data, size, count, file);
  UNLOCKED;
  return done;
}

static int flush(struct stream *one) {
  if (one->count == 0) return 0;
  int is_failed = note('W', one->path, one->offset, "-", one->bytes, one->count), error = errno;
  if (is_failed) __fpurge(one->file);
  int done = is_failed ? EOF : real_fflush_unlocked(one->file);
  if (!is_failed) one->offset += one->count;
  one->count = 0;
  if (is_failed) errno = error;
  return done;
}

int fflush_unlocked(FILE *file) {
  init();
  LOCKED;
  struct stream *one = file ? stream_of(file) : 0;
  int done = one ? flush(one) : real_fflush_unlocked(file);
  UNLOCKED;
  return done;
}

int fclose(FILE *file) {
  init();
  LOCKED;
  struct stream *one = stream_of(file);
  int flushed = one ? flush(one) : 0, error = errno;
  if (one) { free(one->bytes); free(one->path); *one = (struct stream){0}; }
  int done = real_fclose(file);
  if (flushed) errno = error;
  UNLOCKED;
  return flushed ? EOF : done;
}

static int sync_file(int file, int (*real)(int)) {
  char link[64], path[4096];
  sprintf(link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count > 0) {
    path[count] = 0;
    if (is_ours(path)) {
      LOCKED;
      int is_failed = note('S', path, 0, "-", 0, 0);
      UNLOCKED;
      if (is_failed) return -1;
    }
  }
  return real(file);
}
int fdatasync(int file) { init(); return sync_file(file, real_fdatasync); }
int fsync(int file) { init(); return sync_file(file, real_fsync); }

#define NAMED(kind, path, extra, call) \
  init(); if (!is_ours(path)) return call; \
  LOCKED; int done = note(kind, path, 0, extra, 0, 0) ? -1 : call; UNLOCKED; return done;
int rename(const char *from, const char *to) { NAMED('R', from, to, real_rename(from, to)) }
int unlink(const char *path) { NAMED('U', path, "-", real_unlink(path)) }
int rmdir(const char *path) { NAMED('U', path, "-", real_rmdir(path)) }
int mkdir(const char *path, mode_t mode) { NAMED('M', path, "-", real_mkdir(path, mode)) }

int open64(const char *path, int flags, ...) {
  init();
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  if (!is_ours(path) || !(flags & (O_WRONLY | O_RDWR))) return real_open64(path, flags, mode);
  LOCKED;
  int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
  int is_failed = (is_new || (flags & O_TRUNC)) && note('C', path, 0, "w", 0, 0);
  int file = is_failed ? -1 : real_open64(path, flags, mode);
  if (file >= 0 && file < FILES) {
    struct stat found;
    free(path_of[file]);
    path_of[file] = strdup(path);
    offset_of[file] = (flags & O_APPEND) && !fstat(file, &found) ? found.st_size : 0;
  }
  UNLOCKED;
  return file;
}

int close(int file) {
  init();
  if (file >= 0 && file < FILES && path_of[file]) { LOCKED; free(path_of[file]); path_of[file] = 0; UNLOCKED; }
  return real_close(file);
}

static int is_known(int file) { return file >= 0 && file < FILES && path_of[file]; }

static void note_reply(int file, const void *data, size_t count) {
  struct stat found;
  if (log_file < 0 || count < 10 || memcmp(data, "{\"jsonrpc\"", 10) || fstat(file, &found) || !S_ISSOCK(found.st_mode)) return;
  LOCKED;
  note('A', "-", 0, "-", data, count);
  UNLOCKED;
}

ssize_t write(int file, const void *data, size_t count) {
  init();
  if (!is_known(file)) { note_reply(file, data, count); return real_write(file, data, count); }
  LOCKED;
  ssize_t done = note('W', path_of[file], offset_of[file], "-", data, count) ? -1 : real_write(file, data, count);
  if (done > 0) offset_of[file] += done;
  UNLOCKED;
  return done;
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  init();
  if (!is_known(file)) {
    for (int i = 0; i < count; i++) note_reply(file, parts[i].iov_base, parts[i].iov_len);
    return real_writev(file, parts, count);
  }
  ssize_t total = 0;
  for (int i = 0; i < count; i++) {
    ssize_t done = write(file, parts[i].iov_base, parts[i].iov_len);
    if (done < 0) return total ? total : done;
    total += done;
  }
  return total;
}

ssize_t pwrite64(int file, const void *data, size_t count, off64_t offset) {
  init();
  if (!is_known(file)) return real_pwrite64(file, data, count, offset);
  LOCKED;
  ssize_t done = note('W', path_of[file], offset, "-", data, count) ? -1 : real_pwrite64(file, data, count, offset);
  UNLOCKED;
  return done;
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
  init();
  if (!is_known(file)) return real_pwritev64(file, parts, count, offset);
  ssize_t total = 0;
  for (int i = 0; i < count; i++) {
    ssize_t done = pwrite64(file, parts[i].iov_base, parts[i].iov_len, offset + total);
    if (done < 0) return total ? total : done;
    total += done;
  }
  return total;
}

int ftruncate64(int file, off64_t size) {
  init();
  if (!is_known(file)) return real_ftruncate64(file, size);
  LOCKED;
  int done = note('T', path_of[file], size, "-", 0, 0) ? -1 : real_ftruncate64(file, size);
  UNLOCKED;
  return done;
}

static long clock_shift(void) {
  char text[32] = "";
  int file = clock_path ? real_open64(clock_path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  ssize_t count = read(file, text, sizeof text - 1);
  real_close(file);
  return count > 0 ? atol(text) : 0;
}
int gettimeofday(struct timeval *now, void *zone) {
  init();
  int done = real_gettimeofday(now, zone);
  if (!done && clock_path) now->tv_sec += clock_shift();
  return done;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  init();
  int done = real_clock_gettime(clock, now);
  if (!done && clock_path && clock == CLOCK_REALTIME) now->tv_sec += clock_shift();
  return done;
}
