/* The floor: posix_spawn one program N times at once, feed each the payload through a pipe, read what each prints,
 * wait for all. Answers every line "N BYTES" on standard input with the microseconds that it took.
 * No limits, no deadlines, no standard error, no process groups: what an engine adds is what it costs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST = 256 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static pid_t start(char *program, int *in, int *out) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) fail("pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    char *argv[] = {program, NULL};
    pid_t pid;
    if (posix_spawn(&pid, program, &actions, NULL, argv, environ)) fail("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    fcntl(to[1], F_SETFL, O_NONBLOCK);
    *in = to[1];
    *out = from[0];
    return pid;
}

static void fan_out(char *program, int count, const char *payload, size_t size) {
    static struct pollfd polls[2 * MOST];
    static size_t written[MOST];
    static char buffer[1 << 16];
    pid_t pids[MOST];
    int open_outs = count;
    for (int i = 0; i < count; i++) {
        pids[i] = start(program, &polls[2 * i].fd, &polls[2 * i + 1].fd);
        polls[2 * i].events = POLLOUT;
        polls[2 * i + 1].events = POLLIN;
        written[i] = 0;
    }
    while (open_outs > 0) {
        if (poll(polls, 2 * count, -1) < 0) fail("poll");
        for (int i = 0; i < count; i++) {
            struct pollfd *in = &polls[2 * i], *out = in + 1;
            if (in->fd >= 0 && in->revents) {
                ssize_t n = write(in->fd, payload + written[i], size - written[i]);
                if (n > 0) written[i] += n;
                if (n < 0 || written[i] == size) {
                    close(in->fd);
                    in->fd = -1;
                }
            }
            if (out->fd >= 0 && out->revents && read(out->fd, buffer, sizeof buffer) <= 0) {
                close(out->fd);
                out->fd = -1;
                open_outs--;
            }
        }
    }
    for (int i = 0; i < count; i++) {
        if (polls[2 * i].fd >= 0) close(polls[2 * i].fd);
        waitpid(pids[i], NULL, 0);
    }
}

int main(int argc, char **argv) {
    int count;
    size_t size;
    char *payload = NULL;
    if (argc != 2) return 2;
    signal(SIGPIPE, SIG_IGN);
    while (scanf("%d %zu", &count, &size) == 2 && count <= MOST) {
        payload = realloc(payload, size);
        memset(payload, 'x', size);
        double begun = now();
        fan_out(argv[1], count, payload, size);
        printf("%.1f\n", now() - begun);
        fflush(stdout);
    }
    free(payload);
    return 0;
}
