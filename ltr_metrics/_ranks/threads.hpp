// Threads are started in each call, so that a forked process can start its own. The caller waits until all parts of its
// work are done, but not for a thread that got none, or that has not ended yet: on a busy machine either can take
// milliseconds. Such a thread reads no more than its `Crew`. (std::thread would need the C++ library, and OpenMP's
// threads outlive the call.)
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace {

// The system may take a thread's processor away in the middle of a part, for instance where the idle threads of OpenMP
// wait for work in a loop, as LightGBM's do. The caller then calls the thread to its own processor, which is free.

constexpr int USUAL_WAIT = 50'000;  // looks at a counter, for the last part of another thread
constexpr int MOST_CALLED = 64;     // threads

#if defined(__linux__)
int thread_id() { return static_cast<int>(syscall(SYS_gettid)); }
void call_here(int id) {  // whose number no other thread can have got in the meantime, because numbers go round
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(id, sizeof here, &here);
}
#else
int thread_id() { return 0; }
void call_here(int) {}
#endif

template <class Work>
struct Crew {
    const Work work;        // called with the first part that a thread gets, and with the crew for all others
    const int64_t n_parts;  // which ends a loop over them: after the last part, what the work refers to may be gone
    std::atomic<int64_t> n_taken{0}, n_done{0}, n_members{1}, n_joined{0};
    std::atomic<int> at_work[MOST_CALLED] = {};  // the ids of threads

    int64_t take() { return std::min(n_taken++, n_parts); }  // `n_parts` is none
    int64_t take_next() { return n_done++, take(); }

    static void join_in(void* crew) {
        Crew& self = *static_cast<Crew*>(crew);
        std::atomic<int>& id = self.at_work[self.n_joined++ % MOST_CALLED];
        id = thread_id();
        const int64_t part = self.take();
        if (part < self.n_parts) self.work(part, self);
        id = 0;
        self.leave();
    }
    void leave() {
        if (--n_members) return;
        this->~Crew();
        std::free(this);
    }
};

#if defined(_WIN32)
template <void (*RUN)(void*)>
bool start(void* crew) {
    const HANDLE thread = CreateThread(nullptr, 0, [](void* of) -> DWORD { return RUN(of), 0; }, crew, 0, nullptr);
    return thread && CloseHandle(thread);
}
void give_way() { SwitchToThread(); }
#else
template <void (*RUN)(void*)>
bool start(void* crew) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if defined(__GLIBC__)  // Linux often puts it on the processor of its starter, and moves it only after milliseconds
    cpu_set_t others;  // said before it runs: to move a thread that has ended already would move its starter
    if (!sched_getaffinity(0, sizeof others, &others) && CPU_COUNT(&others) > 1) {
        CPU_CLR(sched_getcpu(), &others);
        pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
    }
#endif
    const int failure = pthread_create(&thread, &attributes, [](void* of) -> void* { return RUN(of), nullptr; }, crew);
    return pthread_attr_destroy(&attributes), !failure;
}
void give_way() { sched_yield(); }
#endif

// Does all parts of some work in several threads, this one included; false if there is not enough memory. Where the
// system has no thread left, this one does all of it.
template <class Work>
bool in_threads(int64_t n_threads, int64_t n_parts, const Work& work) {
    void* memory = std::malloc(sizeof(Crew<Work>));
    if (!memory) return false;
    auto* crew = new (memory) Crew<Work>{work, n_parts};
    for (int64_t i = 1; i < std::min(n_threads, n_parts); i++) {
        crew->n_members++;
        if (!start<Crew<Work>::join_in>(crew)) {
            crew->n_members--;
            break;
        }
    }
    crew->n_members++;
    Crew<Work>::join_in(crew);
    for (int i = 0; crew->n_done < n_parts; i++) {
        for (int t = 0; t < MOST_CALLED && i == USUAL_WAIT; t++) {
            if (const int id = crew->at_work[t]) call_here(id);
        }
        if (i > USUAL_WAIT) give_way();  // to it, and to other programs
    }
    crew->leave();
    return true;
}

}  // namespace
