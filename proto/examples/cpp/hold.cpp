// Holds a lock by plain calls, with generated code alone: LockService and SessionService of the contract.
//
// `hold NAME`, with the servers of TENURE_ENDPOINTS, separated by commas. It waits for the lock NAME, and holds it
// until there is input or the lock is lost, whatever becomes of a server.

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include "tenure/v1/lock.grpc.pb.h"
#include "tenure/v1/session.grpc.pb.h"

// snippet: hold
namespace v1 = tenure::v1;
using namespace std::chrono_literals;
using google::protobuf::util::TimeUtil;
using std::chrono::nanoseconds;

constexpr nanoseconds kTtl = 10s, kCallTimeout = kTtl / 6, kPause = 100ms, kWait = 1h;

nanoseconds now() {  // By a clock that goes on while the machine sleeps.
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

class Lock {
public:
    Lock(const std::string& name, std::istringstream endpoints) : name_(name) {
        std::random_device random;  // No other program has this session id, and no other run of this one.
        session_ = std::to_string(random()) + "-" + std::to_string(random());
        grpc::ChannelArguments arguments;  // To detect a dead server during a wait, and a restarted one soon.
        for (const auto* option : {GRPC_ARG_KEEPALIVE_TIME_MS, GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                                   GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS}) {
            arguments.SetInt(option, 1000);
        }
        for (std::string address; std::getline(endpoints, address, ',');) {
            address.erase(0, address.starts_with("http://") ? 7 : 0);
            servers_.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
        }
    }

    bool is_valid() const { return now() < valid_until_.load(); }

    // Waits for the lock. A repeated call is about the same claim, which keeps its place in the queue.
    bool acquire() {
        v1::AcquireRequest request;
        v1::AcquireResponse response;
        request.add_names(name_);
        *request.mutable_ttl() = TimeUtil::NanosecondsToDuration(kTtl.count());
        Reply reply = Reply::kNone;
        for (nanoseconds left = kWait, end = now() + left; reply == Reply::kNone && left > 0s; left = end - now()) {
            *request.mutable_wait() = TimeUtil::NanosecondsToDuration(left.count());
            reply = call(&v1::LockService::Stub::Acquire, request, response, left + kCallTimeout);
        }
        token_ = response.token();
        while (response.acquired() && renew() == Reply::kNone) {}  // The reply of a wait does not limit its validity.
        std::cout << (is_valid() ? "held token=" + std::to_string(token_) : "not held " + reason_) << std::endl;
        return is_valid();
    }

    // Renews the session at a third of the TTL until the lock is released or lost.
    void keep(std::stop_token stop) {
        for (nanoseconds next = now(); !stop.stop_requested() && is_valid(); std::this_thread::sleep_for(kPause)) {
            if (next <= now() && renew() == Reply::kOk) next = now() + kTtl / 3;
        }
    }

    bool release() {
        v1::ReleaseRequest request;
        v1::ReleaseResponse response;
        request.set_name(name_);
        request.set_token(token_);
        Reply reply = Reply::kNone;
        do reply = call(&v1::LockService::Stub::Release, request, response);
        while (reply == Reply::kNone && is_valid());
        std::cout << (reply == Reply::kOk ? "released" : "lost " + reason_) << std::endl;
        return reply == Reply::kOk;
    }

private:
    enum class Reply { kOk, kRejected, kNone };

    // Calls the server that replied last. Without a reply, or if another server may reply differently, the next call
    // goes to the next server.
    template <class Stub, class Request, class Response>
    Reply call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), Request request,
               Response& response, nanoseconds timeout = kCallTimeout) {
        request.set_session_id(session_);
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + timeout);
        Stub stub(servers_.at(at_));
        const grpc::Status status = (stub.*method)(&context, request, &response);
        if (status.ok()) return Reply::kOk;
        const auto& trailers = context.GetServerTrailingMetadata();
        const auto reason = trailers.find("tenure-reason");  // A status without one is not from a Tenure server.
        reason_ = reason == trailers.end() ? "" : std::string(reason->second.data(), reason->second.size());
        const auto code = status.error_code();
        const bool is_transient = code == grpc::UNAVAILABLE || code == grpc::DEADLINE_EXCEEDED ||
                                  code == grpc::RESOURCE_EXHAUSTED || reason_ == "ACQUIRE_CANCELLED";
        if (!reason_.empty() && !is_transient) return Reply::kRejected;
        std::cout << "server=" << at_ << " failed: " << reason_ << " " << status.error_message() << std::endl;
        at_ = (at_ + 1) % servers_.size();
        std::this_thread::sleep_for(kPause);
        return Reply::kNone;
    }

    // Renews the session, and checks that it has the lock: an eviction does not end the session.
    Reply renew() {
        const nanoseconds sent = now();
        v1::RenewResponse response;
        const Reply reply = call(&v1::SessionService::Stub::Renew, v1::RenewRequest(), response);
        if (reply == Reply::kNone) return reply;
        const bool has_lock = std::ranges::find(response.tokens(), token_) != response.tokens().end();
        const nanoseconds ttl(TimeUtil::DurationToNanoseconds(response.ttl()));
        const nanoseconds allowance = ttl / 100 + ttl / 20;  // For clocks of another rate, and for the work to stop.
        valid_until_ = has_lock ? sent + ttl - allowance : 0ns;
        return reply;
    }

    std::string name_, session_, reason_;
    std::vector<std::shared_ptr<grpc::Channel>> servers_;
    size_t at_ = 0;
    uint64_t token_ = 0;
    std::atomic<nanoseconds> valid_until_{0ns};
};

int main(int argc, char** argv) {
    const char* endpoints = std::getenv("TENURE_ENDPOINTS");
    Lock lock(argc > 1 ? argv[1] : "nightly-report", std::istringstream(endpoints ? endpoints : "127.0.0.1:7420"));
    if (!lock.acquire()) return EXIT_FAILURE;
    std::jthread renewals([&](std::stop_token stop) { lock.keep(stop); });
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (lock.is_valid() && poll(&input, 1, 100) <= 0) {}  // The work, which sends the token with each write.
    renewals = {};  // Stops it.
    return lock.release() ? EXIT_SUCCESS : EXIT_FAILURE;
}
// snippet end
