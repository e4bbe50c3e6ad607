// What a compiled network does all day: take an order, run, answer. The other side is
// live_program.py.
//
// An order comes on stdin: how many arrays it sets, then of each its number, its bytes and what is
// in them (a shorter array replaces the beginning); how many arrays it asks for, and their numbers.
// The answer goes to what was stdout when the program began: a status and, if that is 0, the arrays
// that were asked for, each after its number of bytes. All numbers are 64 bits long.
//
// Every array that no order has ever set begins each run as it began the first: a run of a program
// that has run before is the run of a new program.

#ifndef BRIAN_LDA_SERVE_H
#define BRIAN_LDA_SERVE_H

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
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

class Server {
    int answers;
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
        for (; n_set; n_set--) {
            const uint64_t number = read_number(), n_bytes = read_number();
            Array &target = array(number);
            if (n_bytes > target.n_bytes()) refuse("array %llu got too many bytes\n", number);
            if (!read_bytes(target.bytes(), n_bytes)) return false;
            target.is_set = true;
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
        write_bytes(&status, sizeof status);
        if (status) return;
        for (uint64_t number : asked) {
            const uint64_t n_bytes = array(number).n_bytes();
            write_bytes(&n_bytes, sizeof n_bytes);
            write_bytes(array(number).bytes(), n_bytes);
        }
    }

    // Whether the caller has died in mid-run.
    static bool abandoned() {
        pollfd orders = {0, 0, 0};
        return poll(&orders, 1, 0) > 0 && (orders.revents & (POLLHUP | POLLERR | POLLNVAL));
    }
};

}  // namespace brian_lda

#endif
