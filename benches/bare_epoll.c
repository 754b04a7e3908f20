/* The least a client can do: send, receive and epoll for one prepared select, and nothing else.
 *
 * A floor for what a load driver can cost on this machine and kernel: no random streams worth the
 * name, no parsing, no histogram, no error handling. Two threads, blocking sockets, level-triggered.
 *
 *     bare_epoll SOCKET CLIENTS SECONDS ACCOUNTS    prints transactions per second, CPU in µs each
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2
#define READY(reply, got) ((got) >= 6 && (reply)[(got) - 6] == 'Z')

static const char *path;
static int clients, accounts;
static double seconds;
static long done[THREADS];

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double) at.tv_sec + 1e-9 * (double) at.tv_nsec;
}

static char *put(char *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return to + size;
}

static char *put32(char *to, int value)
{
    int network = (int) htonl((unsigned) value);
    return put(to, &network, 4);
}

static void talk(int server, const char *request, const char *end)
{
    char reply[8192];
    ssize_t got;
    if (send(server, request, (size_t) (end - request), 0) < 0)
        exit(1);
    do {
        got = recv(server, reply, sizeof reply, 0);
        if (got <= 0)
            exit(1);
    } while (!READY(reply, got));
}

static int connect_and_prepare(void)
{
    static const char who[] = "user\0postgres\0database\0postgres\0";
    static const char query[] = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
    char request[256], *end = request;
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (connect(server, (struct sockaddr *) &at, sizeof at) != 0)
        exit(1);
    end = put32(end, 8 + (int) sizeof who);
    end = put32(end, 196608);
    end = put(end, who, sizeof who);
    talk(server, request, end);
    end = put(request, "P", 1);
    end = put32(end, 4 + 3 + (int) sizeof query + 2);
    end = put(end, "s0", 3);
    end = put(end, query, sizeof query);
    end = put(end, "\0\0S", 3);
    end = put32(end, 4);
    talk(server, request, end);
    return server;
}

static void ask(int server, unsigned *seed)
{
    char request[64], key[16], *end = request;
    int digits = snprintf(key, sizeof key, "%d", 1 + rand_r(seed) % accounts);
    end = put(end, "B", 1);
    end = put32(end, 4 + 1 + 3 + 2 + 2 + 4 + digits + 2);
    end = put(end, "\0s0\0\0\0\0\1", 8);
    end = put32(end, digits);
    end = put(end, key, (size_t) digits);
    end = put(end, "\0\0E", 3);
    end = put32(end, 9);
    end = put(end, "\0\0\0\0\0S", 6);
    end = put32(end, 4);
    if (send(server, request, (size_t) (end - request), MSG_NOSIGNAL) < 0)
        exit(1);
}

static void *work(void *argument)
{
    long me = (long) argument;
    unsigned seed = (unsigned) me + 1;
    struct epoll_event events[64];
    char reply[8192];
    int poll = epoll_create1(0);
    double end = now() + seconds;
    for (int i = (int) me; i < clients; i += THREADS) {
        int server = connect_and_prepare();
        struct epoll_event event = { .events = EPOLLIN, .data.fd = server };
        epoll_ctl(poll, EPOLL_CTL_ADD, server, &event);
        ask(server, &seed);
    }
    for (;;) {
        int count = epoll_wait(poll, events, 64, -1);
        if (now() > end)
            return NULL;
        for (int i = 0; i < count; i++) {
            int server = events[i].data.fd;
            ssize_t got = recv(server, reply, sizeof reply, 0);
            if (got <= 0)
                exit(1);
            if (!READY(reply, got))
                continue;
            done[me]++;
            now(); /* a driver reads the clock for every latency */
            ask(server, &seed);
        }
    }
}

int main(int count, char **argument)
{
    pthread_t threads[THREADS];
    struct rusage used;
    long all = 0;
    if (count != 5)
        return 2;
    path = argument[1];
    clients = atoi(argument[2]);
    seconds = atof(argument[3]);
    accounts = atoi(argument[4]);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *) i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += done[i];
    }
    getrusage(RUSAGE_SELF, &used);
    printf("%f %f\n", (double) all / seconds,
           ((double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6
            + (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec)) / (double) all);
    return 0;
}
