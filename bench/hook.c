/* The smallest hook that keeps the contract: read the event, print no opinion.
 * With -DBARE and without a C library it costs the kernel's share only, which is what makes an engine's own visible. */
#ifdef BARE

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, EXIT = 60 };
static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, EXIT = 93 };
static long call(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#else
#error "no bare hook for this processor"
#endif

static char buffer[1 << 16];

void _start(void) {
    while (call(READ, 0, (long)buffer, sizeof buffer) > 0) {
    }
    call(WRITE, 1, (long)"{}", 2);
    call(EXIT, 0, 0, 0);
}

#else

#include <unistd.h>

int main(void) {
    static char buffer[1 << 16];
    while (read(0, buffer, sizeof buffer) > 0) {
    }
    return write(1, "{}", 2) == 2 ? 0 : 1;
}

#endif
