// What a compiled network does all day: take an order, run, answer. The other side is
// live_program.py.
//
// An order comes on stdin: how many arrays it sets, then of each its number and the array (a shorter
// one replaces the beginning); how many arrays it asks for, and their numbers. The answer goes to
// what was stdout when the program began: a status and, if that is 0, the arrays that were asked
// for. How an array goes through a pipe is told in array_transport.py. All numbers are 64 bits long.
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

const uint64_t WHOLE = ~0ull;  // these three as in array_transport.py
const size_t LONG = 512, FEW = 4;

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

    // False if stdin has ended.
    static bool read_array(Array &target, uint64_t number) {
        const uint64_t n_bytes = read_number(), n_words = read_number();
        if (n_bytes > target.n_bytes()) refuse("array %llu got too many bytes\n", number);
        if (n_words == WHOLE) return read_bytes(target.bytes(), n_bytes);
        if (n_words > n_bytes / 8) refuse("array %llu got too many words\n", number);
        std::vector<uint32_t> places(n_words);
        std::vector<uint64_t> words(n_words);
        if (!read_bytes(places.data(), 4 * n_words)) return false;
        if (!read_bytes(words.data(), 8 * n_words)) return false;
        memset(target.bytes(), 0, n_bytes);
        for (size_t i = 0; i < n_words; i++) {
            if (places[i] >= n_bytes / 8) refuse("array %llu is too short\n", number);
            memcpy(target.bytes() + 8 * (size_t)places[i], &words[i], 8);
        }
        return true;
    }

    void write_array(Array &source) {
        const uint64_t n_bytes = source.n_bytes(), size = n_bytes / 8;
        const char *bytes = source.bytes();
        uint64_t n_words = WHOLE, word;
        if (size >= LONG && n_bytes % 8 == 0) {
            uint64_t n = 0;
            for (size_t i = 0; i < size; i++) {
                memcpy(&word, bytes + 8 * i, 8);
                n += word != 0;
            }
            if (n <= size / FEW && size <= UINT32_MAX) n_words = n;
        }
        write_bytes(&n_bytes, sizeof n_bytes);
        write_bytes(&n_words, sizeof n_words);
        if (n_words == WHOLE) return write_bytes(bytes, n_bytes);
        std::vector<uint32_t> places;
        std::vector<uint64_t> words;
        places.reserve(n_words);
        words.reserve(n_words);
        for (size_t i = 0; i < size; i++) {
            memcpy(&word, bytes + 8 * i, 8);
            if (!word) continue;
            places.push_back((uint32_t)i);
            words.push_back(word);
        }
        write_bytes(places.data(), 4 * n_words);
        write_bytes(words.data(), 8 * n_words);
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
            const uint64_t number = read_number();
            if (!read_array(array(number), number)) return false;
            array(number).is_set = true;
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
        for (uint64_t number : asked) write_array(array(number));
    }

    // Whether the caller has died in mid-run.
    static bool abandoned() {
        pollfd orders = {0, 0, 0};
        return poll(&orders, 1, 0) > 0 && (orders.revents & (POLLHUP | POLLERR | POLLNVAL));
    }
};

}  // namespace brian_lda

#endif
