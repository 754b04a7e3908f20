/* What the bare loops share: the clock, the socket, and two threads whose work is counted. */
#ifndef BARE_H
#define BARE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define THREADS 2

static const char *path; /* of the server's socket */
static int clients;
static double seconds;
static long done[THREADS]; /* transactions */

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double) at.tv_sec + 1e-9 * (double) at.tv_nsec;
}

static int connect_to_server(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (connect(server, (struct sockaddr *) &at, sizeof at) != 0)
        exit(1);
    return server;
}

/* SOCKET CLIENTS SECONDS, the first arguments of each. */
static void read_arguments(char **argument)
{
    path = argument[1];
    clients = atoi(argument[2]);
    seconds = atof(argument[3]);
}

/* Runs the work in every thread, and prints transactions per second, and CPU in µs each. */
static void run(void *(*work)(void *) )
{
    pthread_t threads[THREADS];
    struct rusage used;
    long all = 0;
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
}

#endif
