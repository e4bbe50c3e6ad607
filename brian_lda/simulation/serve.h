// What a compiled network does all day: take an order, run, answer. The other side is
// live_program.py.
//
// An order comes on stdin: how many arrays it sets, then of each its number and its length in bytes
// (a shorter one replaces the beginning); how many arrays it asks for, and their numbers. The answer
// goes to what was stdout when the program began: a status and, if that is 0, the lengths of the
// arrays that were asked for. The arrays themselves lie in memory that both sides see, one after the
// other (shared_memory.py). All numbers are 64 bits long.
//
// Every array that no order has ever set begins each run as it began the first: a run of a program
// that has run before is the run of a new program.

#ifndef BRIAN_LDA_SERVE_H
#define BRIAN_LDA_SERVE_H

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace brian_lda {

class Array {
public:
    bool is_set = false;  // by orders, from now on
    virtual ~Array() {}
    virtual char *bytes() = 0;
    virtual size_t n_bytes() = 0;
    virtual void keep() = 0;
    virtual void restore() = 0;
};

template <class T> class FixedArray : public Array {
    T *values;
    size_t size;
    std::vector<T> first;

public:
    FixedArray(T *values, size_t size) : values(values), size(size) {}
    char *bytes() { return reinterpret_cast<char *>(values); }
    size_t n_bytes() { return size * sizeof(T); }
    void keep() { first.assign(values, values + size); }
    void restore() { std::copy(first.begin(), first.end(), values); }
};

template <class T> class GrowingArray : public Array {
    std::vector<T> &values;
    std::vector<T> first;

public:
    GrowingArray(std::vector<T> &values) : values(values) {}
    char *bytes() { return reinterpret_cast<char *>(values.data()); }
    size_t n_bytes() { return values.size() * sizeof(T); }
    void keep() { first = values; }
    void restore() { values = first; }
};

// What a StateMonitor has recorded: Brian's DynamicArray2D. It is asked for, never set.
template <class T, template <class> class Table> class RecordedTable : public Array {
    Table<T> &values;
    std::vector<T> rows;

public:
    RecordedTable(Table<T> &values) : values(values) {}
    char *bytes() { return reinterpret_cast<char *>(rows.data()); }
    size_t n_bytes() {
        rows.clear();
        for (int i = 0; i < (int)values.n; i++)
            for (int j = 0; j < (int)values.m; j++) rows.push_back(values(i, j));
        return rows.size() * sizeof(T);
    }
    void keep() {}
    void restore() { values.resize(0, (int)values.m); }
};

// The memory that the caller sees, too: a file without a name, which grows with what is put there.
class SharedMemory {
    int file;
    char *bytes = nullptr;
    size_t size = 0;

public:
    static const size_t ALIGNMENT = 64;  // as in shared_memory.py

    SharedMemory() {
        const char *descriptor = getenv("BRIAN_LDA_MEMORY");
        file = descriptor ? atoi(descriptor) : -1;
    }

    static size_t aligned(size_t n_bytes) { return (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

    // Its first so many bytes; nullptr if they cannot be had.
    char *first(size_t n_bytes) {
        if (n_bytes <= size) return bytes;
        struct stat now;
        if (fstat(file, &now)) return nullptr;
        if ((size_t)now.st_size < n_bytes && ftruncate(file, n_bytes)) return nullptr;
        if (bytes) munmap(bytes, size);
        size = std::max(n_bytes, (size_t)now.st_size);
        void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        return bytes = mapped == MAP_FAILED ? nullptr : static_cast<char *>(mapped);
    }
};

class Server {
    int answers;
    SharedMemory memory;
    bool has_run = false;
    std::vector<std::unique_ptr<Array>> arrays;
    std::vector<uint64_t> asked;

    // False if stdin has ended.
    static bool read_bytes(void *target, size_t n_bytes) {
        char *next = static_cast<char *>(target);
        while (n_bytes) {
            const ssize_t n = ::read(0, next, n_bytes);
            if (n <= 0) return false;
            next += n;
            n_bytes -= n;
        }
        return true;
    }

    void write_bytes(const void *source, size_t n_bytes) {
        const char *next = static_cast<const char *>(source);
        while (n_bytes) {
            const ssize_t n = ::write(answers, next, n_bytes);
            if (n <= 0) _exit(1);  // nobody listens
            next += n;
            n_bytes -= n;
        }
    }

    static uint64_t read_number() {
        uint64_t number;
        if (!read_bytes(&number, sizeof number)) _exit(0);  // in mid-order: the caller has died
        return number;
    }

    char *memory_of(size_t n_bytes) {
        char *first = memory.first(n_bytes);
        if (n_bytes && !first) refuse("there are no %llu bytes of memory to share\n", n_bytes);
        return first;
    }

    Array &array(uint64_t number) {
        if (number >= arrays.size()) refuse("there is no array %llu\n", number);
        return *arrays[number];
    }

    static void refuse(const char *message, unsigned long long number) {
        fprintf(stderr, message, number);
        _exit(1);
    }

public:
    Server() {
        answers = dup(1);
        dup2(2, 1);               // whatever else is printed is a complaint
        signal(SIGINT, SIG_IGN);  // Ctrl-C is for the caller, who then ends this program
    }

    template <class T> void add(T *values, size_t size) {
        arrays.emplace_back(new FixedArray<T>(values, size));
    }

    template <class T> void add(std::vector<T> &values) {
        arrays.emplace_back(new GrowingArray<T>(values));
    }

    template <class T, template <class> class Table> void add(Table<T> &values) {
        arrays.emplace_back(new RecordedTable<T, Table>(values));
    }

    // Carries out the first half of an order; false if there will be none.
    bool next_order() {
        uint64_t n_set;
        if (!read_bytes(&n_set, sizeof n_set)) return false;
        std::vector<uint64_t> sets(2 * n_set);  // numbers, lengths
        if (!read_bytes(sets.data(), 16 * n_set)) return false;
        size_t start = 0;
        for (size_t i = 0; i < n_set; i++) {
            const uint64_t number = sets[2 * i], n_bytes = sets[2 * i + 1];
            if (n_bytes > array(number).n_bytes()) refuse("array %llu got too many bytes\n", number);
            if (n_bytes) memcpy(array(number).bytes(), memory_of(start + n_bytes) + start, n_bytes);
            array(number).is_set = true;
            start += SharedMemory::aligned(n_bytes);
        }
        asked.resize(read_number());
        for (auto &number : asked) number = read_number();
        for (auto &each : arrays) {
            if (each->is_set) continue;
            if (has_run) each->restore();
            else each->keep();
        }
        has_run = true;
        return true;
    }

    void answer(uint64_t status) {
        std::vector<uint64_t> said(1, status);
        size_t size = 0, start = 0;
        for (uint64_t number : asked) {
            if (status) break;
            said.push_back(array(number).n_bytes());
            size += SharedMemory::aligned(said.back());
        }
        char *target = memory_of(size);
        for (size_t i = 1; i < said.size(); i++) {
            if (said[i]) memcpy(target + start, array(asked[i - 1]).bytes(), said[i]);
            start += SharedMemory::aligned(said[i]);
        }
        write_bytes(said.data(), 8 * said.size());
    }

    // Whether the caller has died in mid-run.
    static bool abandoned() {
        pollfd orders = {0, 0, 0};
        return poll(&orders, 1, 0) > 0 && (orders.revents & (POLLHUP | POLLERR | POLLNVAL));
    }
};

}  // namespace brian_lda

#endif
