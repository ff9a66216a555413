import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct GetCommandTests {
    @Test func bytesGoToStandardOutput() async throws {
        try await withImages { origin in
            let workplace = try Workplace()

            let fetched = try await workplace.run("get", origin.url("/a"), "--allow-private-network")
            try await origin.stop()
            let stored = try await workplace.run("get", origin.url("/a"))

            #expect(fetched.status == 0)
            #expect(fetched.bytes == imageBytes("/a"))
            #expect(stored.bytes == imageBytes("/a"))
        }
    }

    @Test func bytesGoToAFileInOneStep() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("a.png", "old")

            let run = try await workplace.run("get", origin.url("/a"), "--output", "a.png", "--allow-private-network")

            #expect(run.status == 0)
            #expect(run.bytes.isEmpty)
            #expect(try workplace.read("a.png") == imageBytes("/a"))
            #expect(try workplace.names == ["a.png", "store"])
        }
    }

    @Test func pipeIsWrittenToAndNotReplaced() async throws {
        try await withImages { origin in
            let workplace = try Workplace()

            let run = try await workplace.shell(
                """
                mkfifo pipe; cat pipe >copy & "$AVATARS" get '\(origin.url("/a"))' -o pipe --allow-private-network
                test -p pipe && wait || { kill $!; exit 1; }
                """
            )

            #expect(run.status == 0)
            #expect(try workplace.read("copy") == imageBytes("/a"))
        }
    }

    @Test(arguments: [["-o", "-"], ["--output", "-"], ["--output=-"]])
    func minusIsStandardOutput(option: [String]) async throws {
        let workplace = try Workplace()
        let image = SampleImage.identicon(for: "me")
        try workplace.write("me.png", image)
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()

        let run = try await workplace.start(["get", "name:me"] + option).end()

        #expect(run.status == 0)
        #expect(run.bytes == image)
        #expect(try workplace.names == ["me.png", "store"])
    }

    #if os(Linux)
    /// `script` runs a program on a pseudo-terminal.
    private static let hasTerminals = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

    @Test("an image is written to a terminal only if that is insisted on", .enabled(if: hasTerminals))
    func terminal() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write(
                "get.sh",
                "\"$AVATARS\" get '\(origin.url("/a"))' --allow-private-network --store store \"$@\""
            )

            let refused = try await workplace.shell("script -qec 'sh get.sh' /dev/null")
            #expect(refused.status == 64)
            #expect(refused.text.contains("--output -"))
            #expect(!refused.text.contains("PNG") && origin.requestCount == 0)

            let insisted = try await workplace.shell("script -qec 'sh get.sh -o -' /dev/null")
            #expect(insisted.status == 0)
            #expect(String(decoding: insisted.bytes, as: UTF8.self).contains("PNG"))
        }
    }
    #endif

    @Test func fileThatCannotBeWrittenIsExitCode2() async throws {
        try await withImages { origin in
            let run = try await Workplace().run("get", origin.url("/a"), "-o", "no/where", "--allow-private-network")

            #expect(run.status == 2)
            #expect(run.messages == "avatars: Cannot write \"no/where\": No such file or directory.\n")
        }
    }

    @Test(arguments: ["name:me", "contact:4711", "my-key", "http://example.com/a.png", "http://u:p4ss@example.com/"])
    func missingImageIsExitCode1(key: String) async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("get", key, "--policy", "offline", "--output", "out")

        #expect(run.status == 1)
        #expect(run.messages.hasPrefix("avatars: "))
        #expect(!run.messages.contains("p4ss"))
        #expect(!workplace.exists("out"))
    }

    @Test func imageThatMustNotBeStoredIsStillWritten() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.image(imageBytes("/a"), cacheControl: "no-store"), for: "/a")

            let run = try await workplace.run("get", origin.url("/a"), "--strict", "--allow-private-network")
            let list = try await workplace.run("list")

            #expect(run.bytes == imageBytes("/a"))
            #expect(list.text.isEmpty)
        }
    }

    @Test func staleImageComesWithAWarning() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            _ = try await workplace.run("fetch", origin.url("/a"), "--allow-private-network")
            try await origin.stop()

            let run = try await workplace.run("get", origin.url("/a"), "--policy", "reload", "--allow-private-network")

            #expect(run.status == 0)
            #expect(run.bytes == imageBytes("/a"))
            #expect(run.messages.hasPrefix("avatars: warning: "))
        }
    }
}
