import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `avatars serve --libravatar`, and the setting that it needs.
@Suite(.timeLimit(.minutes(5))) struct LibravatarCommandTests {
    /// The MD5 of ada@example.org, as `openssl md5` prints it.
    private static let ada = "5bfcf2d8e394674550332640d72db509"

    private func withPeople(_ body: (Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let list = """
                [{"id": "ada", "name": "Ada", "email": "Ada@Example.org", "avatarURL": "\(origin.url("/a.png"))"}]
                """
            try workplace.write("people.json", list)
            try await body(workplace)
        }
    }

    /// Runs `serve` with `options` until `body` has asked it.
    private func serve(
        _ workplace: Workplace,
        _ options: String...,
        body: (_ base: URL) async throws -> Void
    ) async throws -> Run {
        let program = try await workplace.start(["serve", "--listen", "127.0.0.1:0"] + options)
        do {
            try await body(base(of: program))
        } catch {
            program.signal(SIGTERM)
            _ = try await program.end()
            throw error
        }
        program.signal(SIGTERM)
        return try await program.end()
    }

    /// The address that the server prints.
    private func base(of program: RunningProgram) async throws -> URL {
        try await program.says("listening on http://127.0.0.1:")
        let messages = try program.messages
        let begin = try #require(messages.range(of: "http://"))
        let address = messages[begin.lowerBound...].prefix { !$0.isWhitespace }
        return try #require(URL(string: String(address)))
    }

    private func get(_ url: URL) async throws -> (status: Int?, bytes: [UInt8]) {
        let (data, response) = try await URLSession(configuration: .ephemeral).data(from: url)
        return ((response as? HTTPURLResponse)?.statusCode, Array(data))
    }

    @Test(.timeLimit(.minutes(5))) func addressFindsTheImage_onceTheStoreKeepsDigests() async throws {
        try await withPeople { workplace in
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()

            let first = try await serve(workplace, "--libravatar") { base in
                let answer = try await get(base.appending(path: "avatar/\(Self.ada)"))
                #expect(answer.bytes.starts(with: "<svg ".utf8))
            }
            #expect(first.messages.contains("keep-addresses is true now"))
            #expect(first.messages.contains("the next sync of a contact list records them"))
            let setting = try await workplace.run("config", "keep-addresses")
            #expect(setting.text.contains("true"))
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()

            let image = try await workplace.run(
                "get",
                "--contact",
                "ada",
                "--policy",
                "offline",
                "--size",
                "80",
                "--square"
            ).bytes
            let second = try await serve(workplace, "--libravatar") { base in
                let answer = try await get(base.appending(path: "avatar/\(Self.ada)"))
                #expect(answer.status == 200 && answer.bytes == image && !image.isEmpty)
            }
            #expect(!second.messages.contains("keep-addresses") && !second.messages.contains("next sync"))

            _ = try await serve(workplace) { base in
                let answer = try await get(base.appending(path: "avatar/\(Self.ada)"))
                #expect(answer.status == 404)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func listOfTheServerIsRecorded_andTheSettingRemovesTheDigests() async throws {
        try await withPeople { workplace in
            let options = ["--libravatar", "--sync", "people.json", "--allow-private-network"]
            let program = try await workplace.start(["serve", "--listen", "127.0.0.1:0"] + options)
            let base = try await base(of: program)
            try await program.says("sync complete: ")
            let image = try await get(base.appending(path: "avatar/\(Self.ada)"))

            let off = try await workplace.run("config", "keep-addresses", "false")
            let placeholder = try await get(base.appending(path: "avatar/\(Self.ada)"))

            program.signal(SIGTERM)
            _ = try await program.end()
            #expect(image.bytes.starts(with: [0x89, 0x50]) && off.status == 0)
            #expect(placeholder.bytes.starts(with: "<svg ".utf8))
        }
    }
}
