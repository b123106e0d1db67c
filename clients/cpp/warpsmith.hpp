// A program that `warpsmith rules explore` measures: it gives each operation a function, and `serve` does the rest.
//
//     #include "warpsmith.hpp"
//
//     int main() {
//         warpsmith::Program program;
//         program.gpu("Pack", [&](cudaStream_t stream) { pack<<<grid, block, 0, stream>>>(x, buffer); });
//         program.cpu("Send", [&] { send(buffer); });
//         program.gpu("Inner", "tiles", [&](cudaStream_t stream) { ... });   // an alternative of the choice `Inner`
//         program.gpu("Inner", "rows", [&](cudaStream_t stream) { ... });
//         return program.serve();
//     }
//
// A function that takes a stream enqueues its work there and returns at once; the others return when they are done.
// `serve` reads schedules from standard input, a line of JSON each, runs them on CUDA streams and events, times them,
// and answers on standard output. Nothing else may read from standard input.
//
// With WARPSMITH_MPI defined before this header, all ranks of MPI_COMM_WORLD take part: each gives the same operations,
// rank 0 reads and answers, and a time is the greatest over ranks. MPI_Init comes before `serve`, MPI_Finalize after it.
//
// C++17; no other libraries than CUDA's runtime and, if asked for, MPI. The protocol, version 1, is described in
// docs/design-rules.md of warpsmith.
#pragma once

#include <cuda_runtime.h>
#ifdef WARPSMITH_MPI
#include <mpi.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace warpsmith {

// The protocol's version.
constexpr int version = 1;

inline void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

// Which of an invocation's times stands for all of a rank's.
enum class Statistic { median, low, mean };  // `low` is the 10th percentile

struct Options {
    // How long a schedule is repeated, in seconds.
    double seconds = 0.01;
    // How often it is run before that.
    int warm_up = 3;
    // How often it is repeated at least and at most.
    int least = 5;
    int most = 100000;
    Statistic statistic = Statistic::median;
    // What runs have as their platform; without it, the device's name.
    std::string platform;
};

namespace detail {

// A value of JSON: no more than messages have.
struct Json {
    using List = std::vector<Json>;
    using Object = std::map<std::string, Json>;
    std::variant<std::nullptr_t, bool, double, std::string, List, Object> value = nullptr;

    const Json* find(const std::string& key) const {
        auto object = std::get_if<Object>(&value);
        if (!object) return nullptr;
        auto found = object->find(key);
        return found == object->end() ? nullptr : &found->second;
    }

    const std::string& text(const char* what) const {
        auto text = std::get_if<std::string>(&value);
        if (!text) throw std::runtime_error(std::string("`") + what + "` is not a text");
        return *text;
    }

    const List& list(const char* what) const {
        auto list = std::get_if<List>(&value);
        if (!list) throw std::runtime_error(std::string("`") + what + "` is not a list");
        return *list;
    }

    int number(const char* what, int most) const {
        auto number = std::get_if<double>(&value);
        if (!number || *number < 0 || *number > most || *number != std::floor(*number))
            throw std::runtime_error(std::string("`") + what + "` is not a number from 0 to " + std::to_string(most));
        return static_cast<int>(*number);
    }
};

class Parser {
public:
    explicit Parser(const std::string& text) : at(text.c_str()), begin(at), end(at + text.size()) {}

    Json parse() {
        Json found = value(0);
        blanks();
        if (at != end) fail();
        return found;
    }

private:
    const char* at;
    const char* begin;
    const char* end;

    [[noreturn]] void fail() const {
        throw std::runtime_error("the message is not JSON at byte " + std::to_string(at - begin));
    }

    void blanks() {
        while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) ++at;
    }

    bool next(char c) {
        blanks();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    }

    void word(const char* expected) {
        for (; *expected; ++expected, ++at)
            if (at == end || *at != *expected) fail();
    }

    Json value(int depth) {
        if (depth > 32) fail();
        blanks();
        if (at == end) fail();
        switch (*at) {
            case '{': return object(depth);
            case '[': return list(depth);
            case '"': return {string()};
            case 't': word("true"); return {true};
            case 'f': word("false"); return {false};
            case 'n': word("null"); return {nullptr};
            default: {
                if (*at != '-' && (*at < '0' || *at > '9')) fail();
                char* after = nullptr;
                double number = std::strtod(at, &after);
                at = after;
                return {number};
            }
        }
    }

    Json object(int depth) {
        Json::Object found;
        ++at;
        if (next('}')) return {found};
        do {
            blanks();
            if (at == end || *at != '"') fail();
            std::string key = string();
            if (!next(':')) fail();
            found.insert_or_assign(std::move(key), value(depth + 1));
        } while (next(','));
        if (!next('}')) fail();
        return {std::move(found)};
    }

    Json list(int depth) {
        Json::List found;
        ++at;
        if (next(']')) return {found};
        do found.push_back(value(depth + 1));
        while (next(','));
        if (!next(']')) fail();
        return {std::move(found)};
    }

    unsigned hex() {
        unsigned code = 0;
        for (int digit = 0; digit < 4; ++digit, ++at) {
            if (at == end) fail();
            char c = *at;
            int nibble = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : -1;
            if (nibble < 0) fail();
            code = code * 16 + static_cast<unsigned>(nibble);
        }
        return code;
    }

    std::string string() {
        std::string found;
        ++at;
        while (at != end && *at != '"') {
            if (*at != '\\') {
                found += *at++;
                continue;
            }
            if (++at == end) fail();
            char c = *at++;
            switch (c) {
                case 'n': found += '\n'; break;
                case 't': found += '\t'; break;
                case 'r': found += '\r'; break;
                case 'b': found += '\b'; break;
                case 'f': found += '\f'; break;
                case 'u': {
                    unsigned code = hex();
                    if (code >= 0xd800 && code < 0xdc00) {
                        // The first half of a pair.
                        word("\\u");
                        code = 0x10000 + ((code - 0xd800) << 10) + (hex() - 0xdc00);
                    }
                    utf8(found, code);
                    break;
                }
                case '"': case '\\': case '/': found += c; break;
                default: fail();
            }
        }
        if (at == end) fail();
        ++at;
        return found;
    }

    static void utf8(std::string& text, unsigned code) {
        auto tail = [&](int bits) { text += static_cast<char>(0x80 | ((code >> bits) & 0x3f)); };
        if (code < 0x80) {
            text += static_cast<char>(code);
        } else if (code < 0x800) {
            text += static_cast<char>(0xc0 | (code >> 6));
            tail(0);
        } else if (code < 0x10000) {
            text += static_cast<char>(0xe0 | (code >> 12));
            tail(6), tail(0);
        } else {
            text += static_cast<char>(0xf0 | ((code >> 18) & 7));
            tail(12), tail(6), tail(0);
        }
    }
};

// As a text in JSON.
inline std::string quoted(const std::string& text) {
    std::string found = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            found += '\\';
            found += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            found += code;
        } else {
            found += c;
        }
    }
    return found + "\"";
}

// The ranks: those of MPI, or one.
class Ranks {
public:
#ifdef WARPSMITH_MPI
    Ranks() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }

    void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

    double greatest(double value) {
        double result = value;
        MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return result;
    }

    // Gives rank 0's text to all; whether it has one.
    bool share(bool there, std::string& text) {
        long length = there ? static_cast<long>(text.size()) : -1;
        MPI_Bcast(&length, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (length < 0) return false;
        text.resize(static_cast<std::size_t>(length));
        MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
        return true;
    }

    // A rank that gives up may leave others waiting for its messages.
    void give_up() {
        if (size > 1) MPI_Abort(MPI_COMM_WORLD, 1);
    }
#else
    void barrier() {}
    double greatest(double value) { return value; }
    bool share(bool there, std::string&) { return there; }
    void give_up() {}
#endif
    int rank = 0;
    int size = 1;
};

}  // namespace detail

class Program {
public:
    using Gpu = std::function<void(cudaStream_t)>;
    using Cpu = std::function<void()>;

    // An operation of the GPU.
    Program& gpu(const std::string& name, Gpu run) { return gpu(name, "", std::move(run)); }

    // An operation of the host.
    Program& cpu(const std::string& name, Cpu run) { return cpu(name, "", std::move(run)); }

    // The same for an alternative: an operation that the program's file has in alternatives of a choice.
    Program& gpu(const std::string& name, const std::string& alternative, Gpu run) {
        return add(name, alternative, {std::move(run), nullptr});
    }

    Program& cpu(const std::string& name, const std::string& alternative, Cpu run) {
        return add(name, alternative, {nullptr, std::move(run)});
    }

    // What comes before the first invocation of each schedule, such as overwriting the last one's results.
    Program& reset(Cpu run) {
        before = std::move(run);
        return *this;
    }

    // What comes after the first invocation of each schedule: what is wrong with its results, or an empty text. It is
    // called on all ranks.
    Program& check(std::function<std::string()> run) {
        after = std::move(run);
        return *this;
    }

    // Answers until there is nothing more to read. The exit code for `main`: 0, or 2 where the operations are not those
    // of the program's file.
    int serve(const Options& options = {}) {
        detail::Ranks ranks;
        std::string line;
        bool greeted = false;
        auto read = [&] { return ranks.share(ranks.rank == 0 && std::getline(std::cin, line), line); };
        try {
            while (read()) {
                std::string answer = greeted ? measure(line, options, ranks) : greet(line, options, ranks);
                greeted = true;
                if (ranks.rank == 0) std::cout << answer << std::endl;
            }
        } catch (const std::exception& error) {
            std::cerr << "error: " << error.what() << std::endl;
            ranks.give_up();
            return 2;
        }
        return 0;
    }

    ~Program() {
        for (auto event : events) cudaEventDestroy(event);
        for (auto stream : streams) cudaStreamDestroy(stream);
    }

    Program() = default;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

private:
    struct Operation {
        Gpu gpu;
        Cpu cpu;
    };

    struct Step {
        enum { gpu, cpu, record, synchronize, wait } what;
        const Operation* operation;
        cudaEvent_t event;
        cudaStream_t stream;
    };

    std::map<std::pair<std::string, std::string>, Operation> operations;
    Cpu before;
    std::function<std::string()> after;
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;

    Program& add(const std::string& name, const std::string& alternative, Operation operation) {
        if (!operations.emplace(std::pair(name, alternative), std::move(operation)).second)
            throw std::logic_error("the operation " + shown(name, alternative) + " is given twice");
        return *this;
    }

    static std::string shown(const std::string& name, const std::string& alternative) {
        return "`" + name + "`" + (alternative.empty() ? "" : " as `" + alternative + "`");
    }

    static std::string text_of(const detail::Json& message, const char* key) {
        auto found = message.find(key);
        return found ? found->text(key) : std::string();
    }

    // The program itself: an error here is one of whoever wrote it.
    std::string greet(const std::string& line, const Options& options, detail::Ranks& ranks) {
        detail::Json message = detail::Parser(line).parse();
        auto theirs = message.find("warpsmith");
        if (!theirs) throw std::runtime_error("the first line has no `warpsmith`");
        int spoken = theirs->number("warpsmith", 1000000);
        if (spoken != version)
            throw std::runtime_error("this client has version " + std::to_string(version) + " of the protocol, not " +
                                     std::to_string(spoken));
        auto list = message.find("operations");
        if (!list) throw std::runtime_error("the first line has no `operations`");
        for (auto& operation : list->list("operations")) {
            std::string name = text_of(operation, "name"), alternative = text_of(operation, "as");
            auto found = operations.find({name, alternative});
            if (found == operations.end())
                throw std::runtime_error("the program's file has the operation " + shown(name, alternative) +
                                         ", for which no function is given");
            bool of_gpu = text_of(operation, "kind") == "gpu";
            if (of_gpu != static_cast<bool>(found->second.gpu))
                throw std::runtime_error("the operation " + shown(name, alternative) + " is of the " +
                                         (of_gpu ? "GPU" : "host") + " in the program's file");
        }
        std::string platform = options.platform;
        if (platform.empty()) {
            int device = 0;
            cudaDeviceProp properties;
            warpsmith::check(cudaGetDevice(&device), "cudaGetDevice");
            warpsmith::check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
            platform = properties.name;
        }
        return "{\"warpsmith\": " + std::to_string(version) + ", \"platform\": " + detail::quoted(platform) +
               ", \"ranks\": " + std::to_string(ranks.size) + "}";
    }

    std::string measure(const std::string& line, const Options& options, detail::Ranks& ranks) {
        std::vector<Step> steps;
        try {
            // All ranks read the same, and fail alike.
            steps = plan(detail::Parser(line).parse());
        } catch (const std::exception& error) {
            return "{\"error\": " + detail::quoted(error.what()) + "}";
        }
        if (before) {
            before();
            // Streams that don't block know nothing of the default one.
            warpsmith::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        }
        ranks.barrier();
        run(steps);
        std::string wrong = after ? after() : std::string();
        if (ranks.greatest(wrong.empty() ? 0 : 1) > 0)
            return "{\"error\": " + detail::quoted("a wrong result" + (wrong.empty() ? " on another rank" : ": " + wrong)) + "}";
        std::vector<double> times;
        repeat(steps, std::max(options.warm_up, 1), times, ranks);
        double once = ranks.greatest(*std::min_element(times.begin(), times.end()));
        double wanted = once > 0 ? options.seconds / once : options.most;
        int count = static_cast<int>(std::min<double>(std::max<double>(wanted, options.least), options.most));
        repeat(steps, count, times, ranks);
        double seconds = ranks.greatest(summary(times, options.statistic));
        char text[40];
        std::snprintf(text, sizeof text, "{\"seconds\": %.9e}", seconds);
        return text;
    }

    std::vector<Step> plan(const detail::Json& message) {
        auto list = message.find("steps");
        if (!list) throw std::runtime_error("the message has no `steps`");
        std::map<std::string, std::size_t> recorded;
        std::vector<Step> steps;
        for (auto& step : list->list("steps")) {
            auto number = step.find("stream");
            cudaStream_t stream = number ? stream_at(static_cast<std::size_t>(number->number("stream", 255))) : nullptr;
            if (auto run = step.find("run")) {
                std::string name = run->text("run"), alternative = text_of(step, "as");
                auto found = operations.find({name, alternative});
                if (found == operations.end())
                    throw std::runtime_error("there is no operation " + shown(name, alternative));
                const Operation& operation = found->second;
                if (static_cast<bool>(operation.gpu) != static_cast<bool>(number))
                    throw std::runtime_error("the operation " + shown(name, alternative) +
                                             (number ? " takes no stream" : " takes a stream"));
                steps.push_back({number ? Step::gpu : Step::cpu, &operation, nullptr, stream});
            } else if (auto record = step.find("record")) {
                if (!number) throw std::runtime_error("a `record` has no `stream`");
                auto index = recorded.emplace(record->text("record"), recorded.size()).first->second;
                steps.push_back({Step::record, nullptr, event_at(index), stream});
            } else if (auto wait = step.find("wait")) {
                auto found = recorded.find(wait->text("wait"));
                if (found == recorded.end())
                    throw std::runtime_error("it waits for `" + wait->text("wait") + "`, which is not recorded before");
                steps.push_back({number ? Step::wait : Step::synchronize, nullptr, event_at(found->second), stream});
            } else {
                throw std::runtime_error("a step has neither `run`, `record` nor `wait`");
            }
        }
        return steps;
    }

    cudaStream_t stream_at(std::size_t index) {
        while (streams.size() <= index) {
            cudaStream_t stream;
            warpsmith::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
            streams.push_back(stream);
        }
        return streams[index];
    }

    cudaEvent_t event_at(std::size_t index) {
        while (events.size() <= index) {
            cudaEvent_t event;
            warpsmith::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
            events.push_back(event);
        }
        return events[index];
    }

    // One invocation. Schedules end with the host's waits for all that is enqueued.
    static void run(const std::vector<Step>& steps) {
        for (auto& step : steps) {
            switch (step.what) {
                case Step::gpu:
                    step.operation->gpu(step.stream);
                    warpsmith::check(cudaGetLastError(), "an operation of the GPU");
                    break;
                case Step::cpu: step.operation->cpu(); break;
                case Step::record: warpsmith::check(cudaEventRecord(step.event, step.stream), "cudaEventRecord"); break;
                case Step::synchronize: warpsmith::check(cudaEventSynchronize(step.event), "cudaEventSynchronize"); break;
                case Step::wait:
                    warpsmith::check(cudaStreamWaitEvent(step.stream, step.event, 0), "cudaStreamWaitEvent");
                    break;
            }
        }
    }

    static void repeat(const std::vector<Step>& steps, int count, std::vector<double>& times, detail::Ranks& ranks) {
        times.assign(static_cast<std::size_t>(count), 0);
        ranks.barrier();
        for (double& time : times) {
            auto start = std::chrono::steady_clock::now();
            run(steps);
            time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        }
    }

    static double summary(std::vector<double>& times, Statistic statistic) {
        std::sort(times.begin(), times.end());
        std::size_t count = times.size();
        if (statistic == Statistic::low) return times[(count - 1) / 10];
        if (statistic == Statistic::median) return (times[(count - 1) / 2] + times[count / 2]) / 2;
        double sum = 0;
        for (double time : times) sum += time;
        return sum / static_cast<double>(count);
    }
};

}  // namespace warpsmith
