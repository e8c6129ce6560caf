/* trotline-hook: the program that an agent runs. It sends the call to the warm service and prints the answer. If
 * anything is unexpected, it becomes the cold path, with the whole payload, which gives the same answer.
 *
 *   trotline-hook PYTHON --agent AGENT --event EVENT [--home DIR] [--deadline SECONDS] [--fail open] [--uid N]
 *
 * It trusts no environment variable, because another hook may have set it. The home directory is --home or comes from
 * the password file; Python is PYTHON, isolated and without variables; our code is beside this program.
 *
 * The wire, numbers big endian; src/trotline/service/wire.py describes the same:
 *   call      "TL1\0", u32 length of the header, u32 length of the payload, header (JSON), payload
 *   greeting  "TL1\0", 't' taken, 'b' busy or 'c' go cold, 16 bytes of digest
 *   answer    u8 exit code, u32 length of stdout, u32 length of stderr, stdout, stderr; only after 't'
 *
 * The cold path:  PYTHON -I -S HERE/run_bootstrap.py ID RECEIVED-MICROSECONDS REMAINING-MILLISECONDS COLD-REASON, then
 * the arguments after PYTHON
 */
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <pwd.h>
#include <sys/random.h>
#define RUN "/Library/Application Support/trotline/v1/run"
#else
#define RUN "/.local/state/trotline/v1/run"
#endif
#ifdef BARE
#include "bare.h"
#endif
#ifndef PASSWD
#define PASSWD "/etc/passwd"
#endif

enum {
    MAX_PAYLOAD_BYTES = 64000000, /* the cold path reads no more of a payload */
    MAX_HEADER_BYTES = 65536,
    MAX_ARGUMENTS = 64,
    MAX_PATH = 4096,
    MAX_SERVICE_TIMEOUT = 1000, /* milliseconds of silence after which the service is busy */
    DEFAULT_DEADLINE = 50000,   /* the default of --deadline, in milliseconds */
    PREFIX = 12,
    GREETING = 21,
    ANSWER = 9,
    OURS_ALONE = 077,
};

static char **line; /* argv */
static int arguments;   /* the number of arguments after PYTHON */
static const char *home, *agent;
static int fails_open, ended, connection = -1;
static uid_t service_uid;
static int64_t deadline = DEFAULT_DEADLINE, started, received;
static char id[37], code[MAX_PATH], cold[MAX_PATH + 32];
static char *payload;
static size_t size, room;
static void (*broken_pipe)(int);

static char header[PREFIX + MAX_HEADER_BYTES + 8];
static size_t length;

static int64_t now(clockid_t clock, int64_t parts) {
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * parts + t.tv_nsec / (1000000000 / parts);
}

static int64_t remaining_ms(void) { return deadline - (now(CLOCK_MONOTONIC, 1000) - started); }

/* At least half of the remaining time is left for the cold path. */
static int64_t service_timeout(void) {
    int64_t half = remaining_ms() / 2;
    return MAX_SERVICE_TIMEOUT < half ? MAX_SERVICE_TIMEOUT : half;
}

/* Wait for an event, at most this many milliseconds; 0 if it does not come. */
static int wait_for(int fd, short what, int64_t limit) {
    int64_t until = now(CLOCK_MONOTONIC, 1000) + limit;
    for (;;) {
        struct pollfd one = {fd, what, 0};
        int64_t wait = until - now(CLOCK_MONOTONIC, 1000);
        int ready = poll(&one, 1, wait > 0 ? (int)wait : 0);
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

/* Write everything, in several steps if necessary; 0 if the other side is gone or the time is up. */
static int write_all(int fd, const char *data, size_t count, int64_t limit) {
    while (count) {
        ssize_t n = write(fd, data, count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN && wait_for(fd, POLLOUT, limit)) continue;
        if (n <= 0) return 0;
        data += n;
        count -= (size_t)n;
    }
    return 1;
}

/* Read everything. 1: done; 0: the other side is gone; -1: the time is up. */
static int read_all(char *data, size_t count) {
    while (count) {
        ssize_t n = read(connection, data, count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            if (wait_for(connection, POLLIN, service_timeout())) continue;
            return -1;
        }
        if (n <= 0) return 0;
        data += n;
        count -= (size_t)n;
    }
    return 1;
}

static char *format_decimal(char *to, int64_t value) { /* 24 bytes hold twenty digits, a sign and the end */
    char digits[24];
    int n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[n++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) digits[n++] = '-';
    for (int i = 0; i < n; i++) to[i] = digits[n - 1 - i];
    to[n] = 0;
    return to;
}

/* No code is left that knows the reply of the agent. Most agents take exit code 2 for a refusal. */
static _Noreturn void give_up(const char *what) {
    static const char before[] = "trotline: cannot answer: ", after[] = " (error ";
    char number[24];
    format_decimal(number, errno);
    write_all(2, before, sizeof before - 1, 1000);
    write_all(2, what, strlen(what), 1000);
    write_all(2, after, sizeof after - 1, 1000);
    write_all(2, number, strlen(number), 1000);
    write_all(2, ")\n", 2, 1000);
    _exit(fails_open ? 0 : 2);
}

/* Write the rest of the payload to the pipe, in a new process: what did not fit, and what has not arrived yet. */
static _Noreturn void write_rest(int into, size_t from) {
    static char piece[1 << 16];
    close(1); /* the agent reads them until they are closed */
    close(2);
    fcntl(into, F_SETFL, 0);
    int fine = write_all(into, payload + from, size - from, 0);
    while (fine && !ended) {
        ssize_t n = read(0, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN && wait_for(0, POLLIN, remaining_ms())) continue;
        fine = n > 0 && write_all(into, piece, (size_t)n, 0);
    }
    _exit(0);
}

/* Replace standard input by a pipe with the whole payload. A pipe needs no disk and no permissions. */
static void provide_payload(void) {
    int ends[2];
    size_t done = 0;
    if (pipe(ends)) give_up("no pipe");
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (done < size) {
        ssize_t n = write(ends[1], payload + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break; /* the pipe is full */
        done += (size_t)n;
    }
    if (done < size || !ended) {
        long child = fork();
        if (child < 0) give_up("no process");
        if (child == 0) {
            close(ends[0]);
            write_rest(ends[1], done);
        }
    }
    dup2(ends[0], 0);
    close(ends[0]);
    close(ends[1]);
}

static _Noreturn void go_cold(const char *cold_reason) {
    static char *argv[MAX_ARGUMENTS + 10], *environment[] = {"PATH=/usr/bin:/bin", NULL};
    char when[24], rest[24];
    if (connection >= 0) close(connection); /* the service must not evaluate what we evaluate ourselves */
    if ((ended || size) && remaining_ms() > 0) provide_payload(); /* else no process reads it */
    format_decimal(when, received);
    format_decimal(rest, remaining_ms());
    char *head[] = {line[1], "-I", "-S", cold, id, when, rest, (char *)cold_reason};
    memcpy(argv, head, sizeof head);
    memcpy(argv + sizeof head / sizeof *head, line + 2, (size_t)arguments * sizeof *argv);
    signal(SIGPIPE, broken_pipe);
    execve(line[1], argv, environment);
    give_up(line[1]);
}

/* Create a UUID version 7; without randomness it stays empty, and the cold path creates one. */
static void make_id(void) {
    static const char digits[] = "0123456789abcdef";
    unsigned char b[16];
    if (getentropy(b, sizeof b)) return;
    uint64_t ms = (uint64_t)received / 1000;
    for (int i = 5; i >= 0; i--, ms >>= 8) b[i] = (unsigned char)ms;
    b[6] = (unsigned char)(0x70 | (b[6] & 15));
    b[8] = (unsigned char)(0x80 | (b[8] & 63));
    char *to = id;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
        *to++ = digits[b[i] >> 4];
        *to++ = digits[b[i] & 15];
    }
}

/* Parse a number with up to three decimals, in thousandths; -1 if it is invalid. */
static int64_t parse_thousandths(const char *text) {
    int64_t value = 0, unit = 1000;
    int point = 0;
    if (!*text) return -1;
    for (; *text; text++) {
        if (*text == '.' && !point++) continue;
        if (*text < '0' || *text > '9' || value > INT64_MAX / 20) return -1;
        if (point && unit > 1) unit /= 10, value += (*text - '0') * unit;
        else if (!point) value = value * 10 + (*text - '0') * 1000;
    }
    return value;
}

static void parse_options(int argc) {
    arguments = argc - 2;
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *name = line[i], *value = line[i + 1];
        int64_t given = parse_thousandths(value);
        if (!strcmp(name, "--agent")) agent = value;
        if (!strcmp(name, "--home")) home = value;
        if (!strcmp(name, "--deadline") && given >= 0) deadline = given;
        if (!strcmp(name, "--fail")) fails_open = !strcmp(value, "open");
        if (!strcmp(name, "--uid") && given >= 0) service_uid = (uid_t)(given / 1000);
    }
}

/* Read the password file, not the name service, which would load libraries. */
static const char *find_home(void) {
#ifdef __APPLE__
    struct passwd *entry = getpwuid(getuid());
    return entry ? entry->pw_dir : NULL;
#else
    static char file[1 << 18];
    size_t count = 0;
    ssize_t n;
    int fd = open(PASSWD, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    do {
        n = read(fd, file + count, sizeof file - 1 - count);
        count += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    close(fd);
    for (char *entry = file; *entry;) {
        char *field[7] = {entry};
        int fields = 1;
        char *c = entry;
        for (; *c && *c != '\n'; c++) {
            if (*c == ':' && fields < 7) *c = 0, field[fields++] = c + 1;
        }
        entry = *c ? c + 1 : c;
        *c = 0;
        if (fields == 7 && parse_thousandths(field[2]) == (int64_t)getuid() * 1000) return field[5];
    }
    return NULL;
#endif
}

static int peer_is(uid_t uid) {
#ifdef SO_PEERCRED
    struct {
        pid_t pid;
        uid_t uid;
        gid_t gid;
    } peer = {0, (uid_t)-1, 0};
    socklen_t bytes = sizeof peer;
    return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) && peer.uid == uid;
#else
    uid_t other;
    gid_t group;
    return !getpeereid(connection, &other, &group) && other == uid;
#endif
}

static void reach_service(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat run;
    if (!home || !*home) home = find_home();
    if (!home || *home != '/' || !agent || !*agent) go_cold("unfit");
    size_t bytes = strlen(home);
    if (bytes + sizeof RUN + 2 > sizeof at.sun_path) go_cold("unfit");
    memcpy(at.sun_path, home, bytes);
    memcpy(at.sun_path + bytes, RUN, sizeof RUN);
    if (lstat(at.sun_path, &run)) go_cold("absent");
    if (!S_ISDIR(run.st_mode) || run.st_uid != service_uid) go_cold("foreign");
    if (run.st_mode & OURS_ALONE) go_cold("absent"); /* the start of a service repairs that */
    memcpy(at.sun_path + bytes + sizeof RUN - 1, "/s", 3);
    connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0) go_cold("unfit");
    fcntl(connection, F_SETFD, FD_CLOEXEC);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    if (connect(connection, (struct sockaddr *)&at, sizeof at)) go_cold(errno == EAGAIN ? "busy" : "absent");
    if (!peer_is(service_uid)) go_cold("foreign");
}

/* Allocate pages, which cost nothing before they are used; NULL if there are none. */
static char *allocate_pages(size_t count) {
    void *at = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void read_payload(void) {
    for (room = MAX_PAYLOAD_BYTES; !(payload = allocate_pages(room)); room /= 2) {
        if (room < MAX_HEADER_BYTES) go_cold("large");
    }
    while (!ended) {
        if (size == room) go_cold("large");
        if (!wait_for(0, POLLIN, remaining_ms())) go_cold("late");
        ssize_t n = read(0, payload + size, room - size);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) ended = 1;
        else size += (size_t)n;
    }
}

static void put(const char *text) {
    for (; *text && length < sizeof header; text++) header[length++] = *text;
}

/* Write a JSON string. Bytes beyond ASCII are copied; the service refuses what is not UTF-8. */
static void quote(const char *text) {
    static const char digits[] = "0123456789abcdef";
    put("\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        char plain[] = {*text, 0}, escaped[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15], 0};
        put(c < 32 || c == '"' || c == '\\' ? escaped : plain);
    }
    put("\"");
}

static void put_number(int64_t value) {
    char digits[24];
    put(format_decimal(digits, value));
}

/* Write device and inode: a path may name another file for a service in another mount namespace. */
static void put_identity(const struct stat *one) {
    put("["), put_number((int64_t)one->st_dev), put(","), put_number((int64_t)one->st_ino), put("]");
}

static void encode_u32(char *to, size_t value) {
    for (int i = 3; i >= 0; i--, value >>= 8) to[i] = (char)value;
}

static size_t decode_u32(const unsigned char *from) {
    return (size_t)from[0] << 24 | (size_t)from[1] << 16 | (size_t)from[2] << 8 | from[3];
}

/* Write the header: a Call without its payload. */
static void write_header(void) {
    static char here[MAX_PATH];
    struct stat cwd, own;
    if (!*id || !getcwd(here, sizeof here) || *here != '/' || stat(".", &cwd) || stat(code, &own)) go_cold("unfit");
    length = PREFIX;
    put("{\"id\":"), quote(id), put(",\"argv\":[");
    for (int i = 0; i < arguments; i++) put(i ? "," : ""), quote(line[i + 2]);
    put("],\"cwd\":"), quote(here), put(",\"cwd_identity\":"), put_identity(&cwd);
    put(",\"code\":"), quote(code), put(",\"code_identity\":"), put_identity(&own);
    put(",\"environ\":{},\"received_us\":"), put_number(received), put("}");
    if (length > PREFIX + MAX_HEADER_BYTES) go_cold("unfit");
    memcpy(header, "TL1", 4);
    encode_u32(header + 4, length - PREFIX);
    encode_u32(header + 8, size);
}

/* If not everything can be sent, the greeting says why, or does not come. */
static void send_call(void) {
    write_header();
    struct iovec parts[2] = {{header, length}, {payload, size}};
    ssize_t n = writev(connection, parts, 2);
    size_t sent = n > 0 ? (size_t)n : 0, of_header = sent < length ? sent : length;
    if (write_all(connection, header + of_header, length - of_header, service_timeout()))
        write_all(connection, payload + (sent - of_header), size - (sent - of_header), service_timeout());
}

static int print_answer(void) {
    unsigned char begin[GREETING + ANSWER];
    int got = read_all((char *)begin, GREETING);
    if (got <= 0) go_cold(got ? "busy" : "lost");
    if (memcmp(begin, "TL1", 4)) go_cold("odd");
    if (begin[4] != 't') go_cold(begin[4] == 'b' ? "busy" : begin[4] == 'c' ? "cold" : "odd");
    got = read_all((char *)begin + GREETING, ANSWER);
    if (got <= 0) go_cold(got ? "slow" : "lost");
    size_t out = decode_u32(begin + GREETING + 1), err = decode_u32(begin + GREETING + 5);
    if (out > MAX_PAYLOAD_BYTES || err > MAX_PAYLOAD_BYTES) go_cold("odd");
    char *answer = out + err <= sizeof header ? header : allocate_pages(out + err);
    if (!answer) go_cold("large");
    got = read_all(answer, out + err);
    if (got <= 0) go_cold(got ? "slow" : "lost");
    write_all(1, answer, out, remaining_ms());
    write_all(2, answer + out, err, remaining_ms());
    return begin[GREETING];
}

int main(int argc, char **argv) {
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD, 0) < 0 && open("/dev/null", O_RDWR) < 0) _exit(2);
    }
    line = argv;
    service_uid = getuid();
    if (argc < 2 || argc > MAX_ARGUMENTS + 2 || *argv[0] != '/' || *argv[1] != '/') give_up("this is no installed line");
    size_t here = strlen(argv[0]);
    while (argv[0][here] != '/') here--;
    if (here >= sizeof code) give_up("a path is too long");
    memcpy(code, argv[0], here);
    memcpy(cold, argv[0], here);
    memcpy(cold + here, "/run_bootstrap.py", 18);
    received = now(CLOCK_REALTIME, 1000000);
    started = now(CLOCK_MONOTONIC, 1000);
    broken_pipe = signal(SIGPIPE, SIG_IGN);
    parse_options(argc);
    make_id();
    reach_service();
    read_payload();
    send_call();
    return print_answer();
}
