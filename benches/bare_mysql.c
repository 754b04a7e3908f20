/* The least a client of MySQL can do: send, receive and epoll for one prepared look-up, and nothing
 * else.
 *
 * A floor for what a load driver can cost on this machine and kernel, as bare_epoll.c is on
 * PostgreSQL. Two threads, blocking sockets, events by level; root without a password, database d.
 *
 *     bare_mysql SOCKET CLIENTS SECONDS ROWS
 *
 * prints transactions per second, and CPU in µs each.
 */
#define _GNU_SOURCE
#include "bare.h"

#include <sys/epoll.h>

#define HEADER 4
#define END_OF_ROWS 0xfe
#define PREPARE 0x16
#define EXECUTE 0x17
/* LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH */
#define CAPABILITIES (0x1u | 0x8u | 0x200u | 0x8000u | 0x80000u)
#define UTF8MB4 45

static const char sql[] = "SELECT c FROM sbtest1 WHERE id = ?";
static int rows;

/* Every machine that this runs on stores the lowest byte first, as the protocol does. */
static unsigned char *put(unsigned char *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return to + size;
}

static unsigned char *put32(unsigned char *to, unsigned value) { return put(to, &value, 4); }

static void deliver(int server, unsigned char *packet, const unsigned char *end, int sequence)
{
    unsigned size = (unsigned) (end - packet) - HEADER;
    put32(packet, size | (unsigned) sequence << 24);
    if (send(server, packet, (size_t) (end - packet), MSG_NOSIGNAL) < 0)
        exit(1);
}

/* Whole packets until there are `count`; returns the first four bytes after the first one's kind. */
static unsigned receive(int server, int count)
{
    unsigned char reply[8192];
    unsigned first;
    size_t have = 0, at = 0;
    int seen = 0;
    while (seen < count) {
        ssize_t got = recv(server, reply + have, sizeof reply - have, 0);
        if (got <= 0)
            exit(1);
        have += (size_t) got;
        while (have >= at + HEADER) {
            size_t size = reply[at] | (size_t) reply[at + 1] << 8 | (size_t) reply[at + 2] << 16;
            if (have < at + HEADER + size)
                break;
            at += HEADER + size;
            seen++;
        }
    }
    if (reply[HEADER] == 0xff)
        exit(1);
    memcpy(&first, reply + HEADER + 1, sizeof first);
    return first;
}

static int connect_and_prepare(unsigned *statement)
{
    static const char who[] = "root\0\0d\0mysql_native_password";
    static const unsigned char reserved[23] = { 0 };
    unsigned char request[256] = { 0 }, *end = request + HEADER;
    int server = connect_to_server();
    receive(server, 1);
    end = put32(end, CAPABILITIES);
    end = put32(end, 1u << 24);
    *end++ = UTF8MB4;
    end = put(end, reserved, sizeof reserved);
    end = put(end, who, sizeof who);
    deliver(server, request, end, 1);
    receive(server, 1);
    end = request + HEADER;
    *end++ = PREPARE;
    end = put(end, sql, sizeof sql - 1);
    deliver(server, request, end, 0);
    *statement = receive(server, 5); /* one parameter, one column, and the end of each list */
    return server;
}

static void ask(int server, unsigned statement, unsigned *seed)
{
    unsigned char request[64], *end = request + HEADER;
    *end++ = EXECUTE;
    end = put32(end, statement);
    *end++ = 0; /* no cursor */
    end = put32(end, 1);
    end = put(end, "\0\1\3\0", 4); /* no NULL; types follow: one LONG */
    end = put32(end, 1 + (unsigned) (rand_r(seed) % rows));
    deliver(server, request, end, 0);
}

static void *work(void *argument)
{
    long me = (long) argument;
    unsigned seed = (unsigned) me + 1;
    struct epoll_event events[64];
    unsigned char reply[8192];
    static _Thread_local unsigned statement[1 << 16]; /* a client's, by its socket */
    int poll = epoll_create1(0);
    double end = now() + seconds;
    for (int i = (int) me; i < clients; i += THREADS) {
        unsigned own;
        int server = connect_and_prepare(&own);
        struct epoll_event event = { .events = EPOLLIN, .data.fd = server };
        statement[server] = own;
        epoll_ctl(poll, EPOLL_CTL_ADD, server, &event);
        ask(server, own, &seed);
    }
    for (;;) {
        int count = epoll_wait(poll, events, 64, -1);
        if (now() > end)
            return NULL;
        for (int i = 0; i < count; i++) {
            int server = events[i].data.fd;
            ssize_t got = recv(server, reply, sizeof reply, 0);
            if (got <= 0 || reply[HEADER] == 0xff)
                exit(1);
            if (got < 9 || reply[got - 9] != 5 || reply[got - 5] != END_OF_ROWS)
                continue;
            done[me]++;
            now(); /* a driver reads the clock for every latency */
            ask(server, statement[server], &seed);
        }
    }
}

int main(int count, char **argument)
{
    if (count != 5)
        return 2;
    read_arguments(argument);
    rows = atoi(argument[4]);
    run(work);
    return 0;
}
