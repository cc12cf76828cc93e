// SPDX-License-Identifier: BSD-3-Clause
#include "net/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/system_call.hpp"

namespace oratorio {
namespace {

constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

in6_addr raw(const IpAddress& address) {
    in6_addr raw{};
    std::memcpy(&raw, address.data(), address.size());
    return raw;
}

bool is_ipv4(const IpAddress& address) {
    const in6_addr mapped = raw(address);
    return IN6_IS_ADDR_V4MAPPED(&mapped);
}

in_addr ipv4_of(const IpAddress& mapped) {
    in_addr address{};
    std::memcpy(&address, mapped.data() + 12, sizeof address);
    return address;
}

/// A socket address in the form that system calls take, with its length.
struct Name {
    sockaddr_storage storage{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    template <class T>
    static Name of(const T& address) {
        Name name;
        std::memcpy(&name.storage, &address, sizeof address);
        name.length = sizeof address;
        return name;
    }
};

Name ipv6_name(const in6_addr& address, std::uint16_t port) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_addr = address;
    name.sin6_port = htons(port);
    return Name::of(name);
}

Name ipv4_name(in_addr address, std::uint16_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr = address;
    name.sin_port = htons(port);
    return Name::of(name);
}

Result<Socket> listen_at(const Name& name) {
    Socket socket(::socket(name.storage.ss_family, kKind, 0));
    if (socket.number() < 0) return Error::of_errno("creating a socket");
    const int off = 0;  // the socket then accepts IPv4 as well
    if (name.storage.ss_family == AF_INET6 &&
        ::setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
        return Error::of_errno("enabling IPv4 on a socket");
    if (::bind(socket.number(), name.get(), name.length) != 0 ||
        ::listen(socket.number(), SOMAXCONN) != 0)
        return Error::of_errno("listening on a socket");
    return socket;
}

/// Disables Nagle's algorithm, because most messages are small and the other side waits for them.
void send_at_once(const Socket& socket) {
    const int on = 1;
    (void)::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Returns the IP address in `name`. Returns nothing for other families, for link-local IPv6
/// addresses, and, unless `ipv6` is set, for all IPv6 addresses.
std::vector<IpAddress> address_of(const sockaddr* name, bool ipv6) {
    IpAddress address{};
    if (name != nullptr && name->sa_family == AF_INET) {
        address[10] = address[11] = 0xff;
        std::memcpy(address.data() + 12, &reinterpret_cast<const sockaddr_in*>(name)->sin_addr, 4);
        return {address};
    }
    if (name == nullptr || name->sa_family != AF_INET6 || !ipv6) return {};
    const in6_addr& found = reinterpret_cast<const sockaddr_in6*>(name)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&found)) return {};
    std::memcpy(address.data(), &found, address.size());
    return {address};
}

}  // namespace

std::string text_of(const IpAddress& address, std::uint16_t port) {
    char text[INET6_ADDRSTRLEN] = "?";
    const in6_addr ipv6 = raw(address);
    const in_addr ipv4 = ipv4_of(address);
    if (is_ipv4(address)) {
        ::inet_ntop(AF_INET, &ipv4, text, sizeof text);
    } else {
        ::inet_ntop(AF_INET6, &ipv6, text, sizeof text);
    }
    return std::string(text) + " port " + std::to_string(port);
}

Socket::~Socket() {
    if (number() >= 0) ::shutdown(number(), SHUT_RDWR);
}

Result<Socket> Socket::listen() {
    auto both = listen_at(ipv6_name(in6addr_any, 0));
    return both ? std::move(both) : listen_at(ipv4_name({.s_addr = htonl(INADDR_ANY)}, 0));
}

Result<Socket> Socket::connect(const IpAddress& to, std::uint16_t port) {
    // A machine without IPv6 can't connect to mapped addresses.
    const Name name = is_ipv4(to) ? ipv4_name(ipv4_of(to), port) : ipv6_name(raw(to), port);
    Socket socket(::socket(name.storage.ss_family, kKind, 0));
    if (socket.number() < 0) return Error::of_errno("creating a socket");
    send_at_once(socket);
    // After EINTR the system continues to connect.
    if (::connect(socket.number(), name.get(), name.length) != 0 && errno != EINPROGRESS &&
        errno != EINTR)
        return Error::of_errno("connecting");
    return socket;
}

Result<Socket> Socket::accept() const {
    Socket socket(::accept4(number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.number() < 0) return Error::of_errno("accepting a connection");
    send_at_once(socket);
    return socket;
}

Result<std::uint16_t> Socket::port() const {
    sockaddr_in6 name{};  // the port of an IPv4 address lies at the same place
    socklen_t length = sizeof name;
    if (::getsockname(number(), reinterpret_cast<sockaddr*>(&name), &length) != 0)
        return Error::of_errno("reading the port of a socket");
    return ntohs(name.sin6_port);
}

bool Socket::hears_ipv6() const {
    int family = AF_UNSPEC;
    socklen_t length = sizeof family;
    return ::getsockopt(number(), SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 &&
           family == AF_INET6;
}

int Socket::error() const {
    int error = 0;
    socklen_t length = sizeof error;
    return ::getsockopt(number(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

Result<std::size_t> Socket::receive_some(std::span<std::byte> into) const {
    const Answer got = uninterrupted([&] { return ::recv(number(), into.data(), into.size(), 0); });
    if (got.failed()) return Error::of_errno("receiving", got.error_number);
    if (got.result == 0) return Error::of_errno("receiving", ECONNRESET);
    return static_cast<std::size_t>(got.result);
}

Result<std::size_t> Socket::send_some(std::span<const std::byte> data) const {
    const Answer sent =
        uninterrupted([&] { return ::send(number(), data.data(), data.size(), MSG_NOSIGNAL); });
    if (sent.failed()) return Error::of_errno("sending", sent.error_number);
    return static_cast<std::size_t>(sent.result);
}

Result<void> Socket::send(std::span<const std::byte> data, Clock::time_point until) const {
    while (!data.empty()) {
        const auto sent = send_some(data);
        if (sent) {
            data = data.subspan(*sent);
        } else if (!would_wait(sent.error())) {
            return sent.error();
        } else if (auto ready = wait_for(POLLOUT, until); !ready) {
            return ready;
        }
    }
    return {};
}

Result<void> Socket::receive(std::span<std::byte> into, Clock::time_point until) const {
    while (!into.empty()) {
        if (auto ready = wait_for(POLLIN, until); !ready) return ready;
        const auto got = receive_some(into);
        if (got) into = into.subspan(*got);
        if (!got && !would_wait(got.error())) return got.error();
    }
    return {};
}

void Socket::tell_of_silence() const {
    const int on = 1;
    const int seconds = 5;
    (void)::setsockopt(number(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)::setsockopt(number(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    (void)::setsockopt(number(), IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
}

void Socket::end_when_silent(std::chrono::milliseconds after) const {
    tell_of_silence();
    const auto limit = static_cast<unsigned>(after.count());
    (void)::setsockopt(number(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

/// Works because the peer's kernel acknowledges data even if its processes are stuck, and answers
/// keep-alive and zero-window probes.
bool Socket::is_unanswered(std::chrono::milliseconds since) const {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(number(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
    return (info.tcpi_unacked > 0 || info.tcpi_probes > 0) &&
           std::chrono::milliseconds(info.tcpi_last_ack_recv) >= since;
}

Result<void> Socket::wait_for(short events, Clock::time_point until) const {
    for (;;) {
        pollfd watched{number(), events, 0};
        const int ready = ::poll(&watched, 1, poll_timeout(until));
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return Error::of_errno("waiting on a socket");
        if (Clock::now() >= until) return Error::of_errno("waiting on a socket", ETIMEDOUT);
    }
}

int poll_timeout(Socket::Clock::time_point until) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - Socket::Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
}

Result<std::vector<IpAddress>> own_addresses(bool ipv6) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return Error::of_errno("listing the machine's addresses");
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
    std::vector<IpAddress> found;
    for (const bool loopback : {false, true}) {
        for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
            const bool wanted = ((each->ifa_flags & IFF_LOOPBACK) != 0) == loopback;
            if (!wanted || (each->ifa_flags & IFF_UP) == 0) continue;
            for (const IpAddress& address : address_of(each->ifa_addr, ipv6))
                found.push_back(address);
        }
    }
    return found;
}

}  // namespace oratorio
