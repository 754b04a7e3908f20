/* The least a client can do: send, receive and epoll for prepared statements, and nothing else.
 *
 * A floor for what a load driver can cost on this machine and kernel: no random streams worth the
 * name, no parsing, no histogram, no error handling. Two threads, blocking sockets, events by
 * level.
 *
 *     bare_epoll SOCKET CLIENTS SECONDS ACCOUNTS [select|pipeline|tpcb-like]
 *
 * prints transactions per second, and CPU in µs each. A transaction is one look-up of an account,
 * ten of them in one request, or the seven statements of TPC-B-like, each a request of its own.
 */
#define _GNU_SOURCE
#include "bare.h"

#include <arpa/inet.h>
#include <sys/epoll.h>

#define READY(reply, got) ((got) >= 6 && (reply)[(got) - 6] == 'Z')
#define MOST_STEPS 7
#define PIPELINED 10
#define ACCOUNTS_OF_A_BRANCH 100000

/* What a parameter of a statement is drawn from. */
enum { NONE, ACCOUNT, TELLER, BRANCH, DELTA };

struct statement {
    const char *sql;
    int drawn[4]; /* of its parameters */
};

static const struct statement look_up[] = {
    { "SELECT abalance FROM pgbench_accounts WHERE aid = $1", { ACCOUNT } },
};

static const struct statement tpcb_like[MOST_STEPS] = {
    { "BEGIN", { NONE } },
    { "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2", { DELTA, ACCOUNT } },
    { "SELECT abalance FROM pgbench_accounts WHERE aid = $1", { ACCOUNT } },
    { "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2", { DELTA, TELLER } },
    { "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2", { DELTA, BRANCH } },
    { "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
      " VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
      { TELLER, BRANCH, ACCOUNT, DELTA } },
    { "END", { NONE } },
};

static const struct statement *script = look_up;
static int steps = 1;    /* requests of a transaction */
static int repeated = 1; /* how often a request holds its statement */

static int accounts;

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

static void prepare(int server, int step)
{
    char request[256], *end = request, name[] = { 's', (char) ('0' + step), 0 };
    int size = (int) strlen(script[step].sql) + 1;
    end = put(end, "P", 1);
    end = put32(end, 4 + 3 + size + 2);
    end = put(end, name, 3);
    end = put(end, script[step].sql, (size_t) size);
    end = put(end, "\0\0S", 3);
    end = put32(end, 4);
    talk(server, request, end);
}

static int connect_and_prepare(void)
{
    static const char who[] = "user\0postgres\0database\0postgres\0";
    char request[256], *end = request;
    int server = connect_to_server();
    end = put32(end, 8 + (int) sizeof who);
    end = put32(end, 196608);
    end = put(end, who, sizeof who);
    talk(server, request, end);
    for (int step = 0; step < steps; step++)
        prepare(server, step);
    return server;
}

static int draw(int from, unsigned *seed)
{
    int branches = accounts / ACCOUNTS_OF_A_BRANCH, drawn = rand_r(seed);
    switch (from) {
    case TELLER:
        return 1 + drawn % (10 * branches);
    case BRANCH:
        return 1 + drawn % branches;
    case DELTA:
        return drawn % 10001 - 5000;
    default:
        return 1 + drawn % accounts;
    }
}

static char *put_bind(char *end, int step, unsigned *seed)
{
    char values[64], *value = values, head[] = { 0, 's', (char) ('0' + step), 0, 0, 0, 0, 0 };
    int count = 0;
    for (; count < 4 && script[step].drawn[count] != NONE; count++) {
        int digits = snprintf(value + 4, 12, "%d", draw(script[step].drawn[count], seed));
        put32(value, digits);
        value += 4 + digits;
    }
    head[7] = (char) count;
    end = put(end, "B", 1);
    end = put32(end, 4 + (int) sizeof head + (int) (value - values) + 2);
    end = put(end, head, sizeof head);
    end = put(end, values, (size_t) (value - values));
    end = put(end, "\0\0E", 3);
    end = put32(end, 9);
    return put(end, "\0\0\0\0\0", 5);
}

static void ask(int server, int step, unsigned *seed)
{
    char request[1024], *end = request;
    for (int i = 0; i < repeated; i++)
        end = put_bind(end, step, seed);
    end = put(end, "S", 1);
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
    static _Thread_local unsigned char at[1 << 16]; /* a client's step, by its socket */
    int poll = epoll_create1(0);
    double end = now() + seconds;
    for (int i = (int) me; i < clients; i += THREADS) {
        int server = connect_and_prepare();
        struct epoll_event event = { .events = EPOLLIN, .data.fd = server };
        epoll_ctl(poll, EPOLL_CTL_ADD, server, &event);
        ask(server, 0, &seed);
    }
    for (;;) {
        /* Not for ever: a client of the thread that has ended may hold the row that ours wait for. */
        int count = epoll_wait(poll, events, 64, 100);
        if (now() > end)
            return NULL;
        for (int i = 0; i < count; i++) {
            int server = events[i].data.fd;
            ssize_t got = recv(server, reply, sizeof reply, 0);
            if (got <= 0)
                exit(1);
            if (!READY(reply, got))
                continue;
            if (++at[server] == steps) {
                at[server] = 0;
                done[me]++;
                now(); /* a driver reads the clock for every latency */
            }
            ask(server, at[server], &seed);
        }
    }
}

int main(int count, char **argument)
{
    if (count != 5 && count != 6)
        return 2;
    read_arguments(argument);
    accounts = atoi(argument[4]);
    if (count == 6 && strcmp(argument[5], "pipeline") == 0)
        repeated = PIPELINED;
    if (count == 6 && strcmp(argument[5], "tpcb-like") == 0) {
        script = tpcb_like;
        steps = MOST_STEPS;
    }
    run(work);
    return 0;
}
