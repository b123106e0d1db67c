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

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

// Binds this thread to cores, as Linux lists them: `0-7,16`.
inline void bind(const std::string& cores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    auto wrong = [&](const char* why) { throw std::runtime_error("the cores `" + cores + "` " + why); };
    const char* at = cores.c_str();
    auto number = [&] {
        char* end = nullptr;
        long found = std::strtol(at, &end, 10);
        if (end == at || found < 0 || found >= CPU_SETSIZE) wrong("are no list of cores");
        at = end;
        return found;
    };
    do {
        long first = number(), last = *at == '-' ? (++at, number()) : first;
        if (last < first) wrong("are no list of cores");
        for (; first <= last; ++first) CPU_SET(static_cast<std::size_t>(first), &set);
    } while (*at++ == ',');
    if (at[-1]) wrong("are no list of cores");
    if (sched_setaffinity(0, sizeof set, &set)) wrong("can't be had");
}

// The cores of a NUMA node, for `bind`.
inline std::string cores_of_node(int node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::string cores;
    if (!std::getline(file, cores)) throw std::runtime_error("there is no NUMA node " + std::to_string(node));
    return cores;
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

// A value of JSON, of the kinds that messages have.
struct Json {
    using List = std::vector<Json>;
    using Object = std::map<std::string, Json>;
    std::variant<double, std::string, List, Object> value = 0.0;

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
    explicit Parser(const std::string& text) : at(text.c_str()), begin(at) {}

    Json parse() {
        Json found = value();
        if (next() != '\0') fail();
        return found;
    }

private:
    const char* at;
    const char* begin;

    [[noreturn]] void fail() const {
        throw std::runtime_error("the message is not JSON at byte " + std::to_string(at - begin));
    }

    // The next byte that is no blank; 0 at the end.
    char next() {
        while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n') ++at;
        return *at;
    }

    void take(char expected) {
        if (next() != expected) fail();
        ++at;
    }

    Json value() {
        char first = next();
        if (first == '"') return {string()};
        if (first == '{') {
            Json::Object found;
            items('}', [&] {
                std::string key = string();
                take(':');
                found.insert_or_assign(std::move(key), value());
            });
            return {std::move(found)};
        }
        if (first == '[') {
            Json::List found;
            items(']', [&] { found.push_back(value()); });
            return {std::move(found)};
        }
        char* after = nullptr;
        double number = std::strtod(at, &after);
        if (after == at) fail();
        at = after;
        return {number};
    }

    template <class Item>
    void items(char end, Item item) {
        ++at;
        if (next() != end) {
            item();
            while (next() == ',') ++at, item();
        }
        take(end);
    }

    // A text. An escape stands for the byte behind it: names have no others.
    std::string string() {
        std::string found;
        take('"');
        for (; *at != '"'; ++at) {
            if (*at == '\\') ++at;
            if (!*at) fail();
            found += *at;
        }
        ++at;
        return found;
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
        return add(name, alternative, {std::move(run), nullptr, nullptr});
    }

    Program& cpu(const std::string& name, const std::string& alternative, Cpu run) {
        return add(name, alternative, {nullptr, std::move(run), nullptr});
    }

    // An alternative of a setting: what makes it on each rank, before the first invocation of a schedule.
    Program& setting(const std::string& name, const std::string& alternative, Cpu run) {
        return add(name, alternative, {nullptr, nullptr, std::move(run)});
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
        Cpu setting;
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
        if (auto settings = message.find("settings"))
            for (auto& setting : settings->list("settings"))
                if (auto alternatives = setting.find("alternatives"))
                    for (auto& alternative : alternatives->list("alternatives"))
                        setting_of(text_of(setting, "name"), alternative.text("alternatives"));
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
        std::vector<const Cpu*> settings;
        try {
            // All ranks read the same, and fail alike.
            steps = plan(detail::Parser(line).parse(), settings);
        } catch (const std::exception& error) {
            return "{\"error\": " + detail::quoted(error.what()) + "}";
        }
        for (auto set : settings) (*set)();
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

    const Cpu& setting_of(const std::string& name, const std::string& alternative) const {
        auto found = operations.find({name, alternative});
        if (found == operations.end() || !found->second.setting)
            throw std::runtime_error("no function is given for the setting " + shown(name, alternative));
        return found->second.setting;
    }

    std::vector<Step> plan(const detail::Json& message, std::vector<const Cpu*>& settings) {
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
            } else if (auto set = step.find("set")) {
                settings.push_back(&setting_of(set->text("set"), text_of(step, "as")));
            } else {
                throw std::runtime_error("a step has none of `run`, `record`, `wait` and `set`");
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
