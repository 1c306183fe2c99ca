/* A fixed team of threads that meet at barriers a few hundred thousand times per fit.
 *
 * A meeting has to cost less than the work between two of them (about 100 microseconds for a
 * mini-batch), so threads spin, and yield after a while for the sake of shared cores.
 */
#ifndef NGDT_BARRIER_H
#define NGDT_BARRIER_H

#include <stdatomic.h>
#ifdef _WIN32
#include <windows.h>
#define ngdt_yield() SwitchToThread()
#else
#include <sched.h>
#define ngdt_yield() sched_yield()
#endif

typedef struct {
    int size;
    atomic_int arrived;
    atomic_int meeting;
    atomic_int ticket;
    atomic_int aborted;
} ngdt_threads;

static inline void ngdt_threads_init(ngdt_threads *team, int size)
{
    team->size = size;
    atomic_init(&team->arrived, 0);
    atomic_init(&team->meeting, 0);
    atomic_init(&team->ticket, 0);
    atomic_init(&team->aborted, 0);
}

/* The next piece of work of this phase: 0, 1, 2, ... each handed out once. */
static inline int ngdt_threads_next_task(ngdt_threads *team)
{
    if (team->size == 1) {
        int ticket = atomic_load_explicit(&team->ticket, memory_order_relaxed);
        atomic_store_explicit(&team->ticket, ticket + 1, memory_order_relaxed);
        return ticket;
    }
    return atomic_fetch_add_explicit(&team->ticket, 1, memory_order_relaxed);
}

/* Send everybody home: a member will never arrive, because it could not be started. */
static inline void ngdt_threads_abort(ngdt_threads *team)
{
    atomic_store_explicit(&team->aborted, 1, memory_order_release);
}

/* Wait until all have arrived; the last one resets the tickets for the next phase.
 * Returns 0 if the team was sent home. */
static inline int ngdt_threads_wait(ngdt_threads *team)
{
    int meeting = atomic_load_explicit(&team->meeting, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) == team->size - 1) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&team->ticket, 0, memory_order_relaxed);
        atomic_store_explicit(&team->meeting, meeting + 1, memory_order_release);
        return 1;
    }
    for (int spins = 0; atomic_load_explicit(&team->meeting, memory_order_acquire) == meeting;
         spins++) {
        if (atomic_load_explicit(&team->aborted, memory_order_acquire))
            return 0;
        if (spins > 2000)
            ngdt_yield();
    }
    return 1;
}

#endif
