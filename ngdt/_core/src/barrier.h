/* A fixed number of threads that share tasks and meet at barriers, some 100 000 times per fit.
 *
 * A mini-batch takes about 100 microseconds, and a barrier has to cost less than that. So threads
 * spin, and yield the core after a while. With more threads than cores, those that spin keep the
 * others from their work: see `usable_threads` in threads.pyx.
 *
 * All fields but `size` are atomic, and written by any thread:
 * next_task  by `next_task`; set to zero by the last thread to arrive at a barrier
 * n_waiting  by `wait`
 * barrier    number of barriers passed; by the last thread to arrive
 * aborted    by `abort`
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

enum { NGDT_SPINS_BEFORE_YIELD = 2000 };

typedef struct {
    int size;
    atomic_int n_waiting;
    atomic_int barrier;
    atomic_int next_task;
    atomic_int aborted;
} ngdt_threads;

static inline void ngdt_threads_init(ngdt_threads *threads, int size)
{
    threads->size = size;
    atomic_init(&threads->n_waiting, 0);
    atomic_init(&threads->barrier, 0);
    atomic_init(&threads->next_task, 0);
    atomic_init(&threads->aborted, 0);
}

/* The next task of this phase: 0, 1, 2, ... each is returned once. */
static inline int ngdt_threads_next_task(ngdt_threads *threads)
{
    if (threads->size == 1) {
        int task = atomic_load_explicit(&threads->next_task, memory_order_relaxed);
        atomic_store_explicit(&threads->next_task, task + 1, memory_order_relaxed);
        return task;
    }
    return atomic_fetch_add_explicit(&threads->next_task, 1, memory_order_relaxed);
}

/* End all waiting: a thread that could not be started will never arrive. */
static inline void ngdt_threads_abort(ngdt_threads *threads)
{
    atomic_store_explicit(&threads->aborted, 1, memory_order_release);
}

/* Wait until all threads have arrived. The last one resets the tasks for the next phase.
 * Returns 0 after `abort`. */
static inline int ngdt_threads_wait(ngdt_threads *threads)
{
    int barrier = atomic_load_explicit(&threads->barrier, memory_order_acquire);
    if (atomic_fetch_add_explicit(&threads->n_waiting, 1, memory_order_acq_rel)
        == threads->size - 1) {
        atomic_store_explicit(&threads->n_waiting, 0, memory_order_relaxed);
        atomic_store_explicit(&threads->next_task, 0, memory_order_relaxed);
        atomic_store_explicit(&threads->barrier, barrier + 1, memory_order_release);
        return 1;
    }
    for (int spins = 0;
         atomic_load_explicit(&threads->barrier, memory_order_acquire) == barrier; spins++) {
        if (atomic_load_explicit(&threads->aborted, memory_order_acquire))
            return 0;
        if (spins > NGDT_SPINS_BEFORE_YIELD)
            ngdt_yield();
    }
    return 1;
}

#endif
