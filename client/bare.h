/* The few system calls that the client makes, without a C library: starting one takes longer than a warm call.
 * For Linux on two processors; other systems use the library. Included after the headers of the library, whose
 * structures are those of the kernel on these machines. */
#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "no bare client for this machine"
#endif
#include <sys/syscall.h>

static int bare_errno;
#undef errno
#define errno bare_errno

static long bare_call(long n, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = n, result __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#endif
    if (result >= 0 || result < -4095) return result;
    bare_errno = (int)-result;
    return -1;
}

#define CALL6(name, a, b, c, d, e, f) \
    bare_call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL3(name, a, b, c) CALL6(name, a, b, c, 0, 0, 0)

#define read(fd, to, size) CALL3(read, fd, to, size)
#define write(fd, from, size) CALL3(write, fd, from, size)
#define writev(fd, parts, count) CALL3(writev, fd, parts, count)
#define open(path, flags) ((int)CALL6(openat, AT_FDCWD, path, flags, 0, 0, 0))
#define close(fd) CALL3(close, fd, 0, 0)
#define dup2(from, to) CALL3(dup3, from, to, 0)
#define pipe(ends) CALL3(pipe2, ends, 0, 0)
#define fork() CALL6(clone, SIGCHLD, 0, 0, 0, 0, 0)
#define execve(path, argv, environment) CALL3(execve, path, argv, environment)
#define fcntl(fd, what, value) CALL3(fcntl, fd, what, value)
#define getuid() ((uid_t)CALL3(getuid, 0, 0, 0))
#define stat(path, to) CALL6(newfstatat, AT_FDCWD, path, to, 0, 0, 0)
#define lstat(path, to) CALL6(newfstatat, AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW, 0, 0)
#define socket(family, type, protocol) ((int)CALL3(socket, family, type, protocol))
#define connect(fd, to, size) CALL3(connect, fd, to, size)
#define getsockopt(fd, level, name, to, size) CALL6(getsockopt, fd, level, name, to, size, 0)
#define clock_gettime(clock, to) CALL3(clock_gettime, clock, to, 0)
#define getentropy(to, size) (CALL3(getrandom, to, size, 0) == (long)(size) ? 0 : -1)
#define mmap(at, size, may, how, fd, from) ((void *)CALL6(mmap, at, size, may, how, fd, from))

static _Noreturn void bare_exit(int code) {
    for (;;) CALL3(exit_group, code, 0, 0);
}

static char *bare_getcwd(char *to, size_t size) { return CALL3(getcwd, to, size, 0) > 0 ? to : NULL; }

static int bare_poll(struct pollfd *all, unsigned long count, int milliseconds) {
    struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    return (int)CALL6(ppoll, all, count, &wait, 0, 0, 0);
}

/* Only to ignore a signal or to put back what was: no function of ours is ever called by one. */
static void (*bare_signal(int which, void (*what)(int)))(int) {
    long action[4] = {(long)what}, old[4] = {0};
    CALL6(rt_sigaction, which, action, old, 8, 0, 0);
    return (void (*)(int))old[0];
}

#define getcwd bare_getcwd
#define poll bare_poll
#define signal bare_signal
#define _exit bare_exit

/* What the compiler itself calls, and what we do. */
void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t size) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i]) return x[i] - y[i];
    }
    return 0;
}

size_t strlen(const char *text) {
    size_t size = 0;
    while (text[size]) size++;
    return size;
}

int strcmp(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

int main(int argc, char **argv);

__attribute__((used)) static _Noreturn void bare_main(long *stack) { bare_exit(main((int)stack[0], (char **)(stack + 1))); }

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall bare_main\n");
#else
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n\tbl bare_main\n");
#endif
