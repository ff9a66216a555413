import AvatarStoreTesting
import Foundation
import NIOCore
import NIOPosix
import ProgramRunning
import Testing

/// The socket of `avatars serve`: a Unix domain socket, a port, or one that a service manager passes.
@Suite(.timeLimit(.minutes(5))) struct ServeSocketTests {
    @Test func unixSocketIsServed_andRemovedAtTheEnd() async throws {
        try await ServedStore.with { _, workplace in
            let run = try await RunningServer.with(["--socket", "server.sock"], in: workplace) { server in
                let reply = try await server.ask("/contacts/ada/picture")
                #expect(reply.status == 200)
            }
            #expect(run.status == 143)
            #expect(!workplace.exists("server.sock"))
        }
    }

    @Test func fileAtThePathStays() async throws {
        let workplace = try Workplace()
        try workplace.write("notes", "mine")

        let run = try await workplace.run("serve", "--socket", "notes")

        #expect(run.status == 2)
        #expect(run.messages.contains("Cannot listen on \"notes\": it is not a socket."))
        #expect(String(decoding: try workplace.read("notes"), as: UTF8.self) == "mine")
    }

    @Test func socketOfAKilledServerIsReplaced_butNotALiveOne() async throws {
        try await ServedStore.with { _, workplace in
            let killed = try await RunningServer.start(["--socket", "server.sock"], in: workplace)
            killed.program.signal(SIGKILL)
            _ = try await killed.program.end()
            #expect(workplace.exists("server.sock"))

            try await RunningServer.with(["--socket", "server.sock"], in: workplace) { server in
                let second = try await workplace.run("serve", "--socket", "server.sock")
                #expect(second.status == 2)
                #expect(second.messages.contains("\"server.sock\": another process listens on it."))
                #expect(try await server.ask("/healthz").status == 200)
            }
        }
    }

    @Test(arguments: [
        (String(repeating: "x", count: 200), "the path of a socket must not exceed 107 bytes"),
        ("missing/server.sock", "No such file or directory"),
    ])
    func pathThatCannotBeASocketIsRefused(path: String, message: String) async throws {
        let run = try await Workplace().run("serve", "--socket", path)

        #expect(run.status == 2)
        #expect(run.messages.contains(message) && run.messages.contains("--socket"))
    }

    @Test func portInUseIsRefused() async throws {
        let workplace = try Workplace()
        try await RunningServer.with(in: workplace) { server in
            guard case .port(let port) = server.place else { return }
            let run = try await workplace.run("serve", "--listen", "127.0.0.1:\(port)")

            #expect(run.status == 2)
            #expect(
                run.messages == """
                    avatars: Cannot listen on 127.0.0.1:\(port): Address already in use. Choose another place with --listen \
                    or --socket.

                    """
            )
        }
    }

    @Test(arguments: ["localhost", "1.2.3.4.5:80", "127.0.0.1:70000", ":80", "127.0.0.1:"])
    func addressThatIsNoneIsAUsageError(address: String) async throws {
        let run = try await Workplace().run("serve", "--listen", address)

        #expect(address.hasPrefix("1.2") ? run.status == 2 : run.status == 64)
    }

    // MARK: A socket that is passed

    /// Passes a listening socket as systemd does (sd_listen_fds(3)), and runs `body` with the program and the socket.
    private func withPassedSocket(
        _ family: Int32,
        _ body: (RunningProgram, RawConnection.Place, _ listener: Int32) async throws -> Void
    ) async throws {
        let workplace = try Workplace()
        let listener = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        let path = workplace.path("passed.sock")
        let address =
            family == AF_UNIX
            ? try SocketAddress(unixDomainSocketPath: path) : try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        #expect(address.withSockAddr { bind(listener, $0, socklen_t($1)) } == 0)
        #expect(listen(listener, 16) == 0)
        let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$AVATARS\" serve 3<&0 </dev/null"
        let input = FileHandle(fileDescriptor: listener, closeOnDealloc: true)
        let program = try await workplace.start(tool: "/bin/sh", ["-c", script], reading: input)
        try await program.says("listening on the socket that systemd passed", orEnds: true)
        try await body(program, family == AF_UNIX ? .path(path) : .port(Self.port(of: listener)), listener)
        try input.close()
    }

    private static func port(of descriptor: Int32) -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: address.sin_port)) : 0
    }

    @Test(arguments: [AF_UNIX, AF_INET]) func passedSocketIsServed_andStays(family: Int32) async throws {
        try await withPassedSocket(family) { program, place, _ in
            let reply = try await RawConnection(place).ask("/healthz")
            program.signal(SIGTERM)
            let run = try await program.end()

            #expect(reply.status == 200)
            #expect(run.status == 143)
            // New connections wait for the next server.
            _ = try RawConnection(place)
        }
    }

    /// The manager and the server share one socket; shutdown(2) ends it for both.
    @Test func shutdownOfAPassedSocketEndsTheServer() async throws {
        try await withPassedSocket(AF_INET) { program, place, listener in
            #expect(try await RawConnection(place).ask("/healthz").status == 200)
            #expect(shutdown(listener, Int32(SHUT_RDWR)) == 0)
            let run = try await program.end()

            #expect(run.status == 0)
            #expect(run.messages == "avatars: listening on the socket that systemd passed\n")
        }
    }

    #if os(Linux)
    private static let activator = "/usr/bin/systemd-socket-activate"

    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: activator),
            "needs systemd-socket-activate: apt-get install systemd"
        )
    )
    func socketOfSystemdIsServed() async throws {
        let workplace = try Workplace()
        let path = workplace.path("passed.sock")
        let command = [Program.executable.path(percentEncoded: false), "serve", "--store", workplace.path("store")]
        let program = try await workplace.start(tool: Self.activator, ["-l", path] + command)
        // The path is there before the socket listens.
        try await program.says("Listening on ", orEnds: true)
        // The first connection starts the server.
        let reply = try await RawConnection(.path(path)).ask("/healthz")
        program.signal(SIGTERM)
        let run = try await program.end()

        #expect(reply.status == 200)
        #expect(run.status == 143)
    }
    #endif
}
