import Foundation
import ProgramRunning
import Testing

/// The excerpt of the README with `avatars serve`.
extension ReadmeExamples {
    private static let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// Runs the excerpt with the server. Only the port differs, and the address of the image's origin.
    @Test(.enabled(if: hasCurl, "needs curl: apt-get install curl")) func avatarServer() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write(
                "people.json",
                #"[{"id": "42", "name": "Ada", "avatarURL": "\#(origin.url("/ada.png"))"}]"#
            )
            let block = try #require(
                try Page("README.md").examples(in: "console").first { $0.joined().contains("avatars serve") }
            )
            let steps = Self.steps(of: block)
            try #require(steps.count == 2 && steps[0].command.hasSuffix(" &"))
            let arguments = steps[0].command.split(separator: " ").map(String.init).dropFirst().dropLast()
            let server = try await workplace.start(arguments + ["--listen", "127.0.0.1:0", "--allow-private-network"])
            do {
                try await server.says("sync complete")
                let port = try #require(try server.messages.firstMatch(of: /127\.0\.0\.1:([0-9]+)/)?.1)
                let run = try await workplace.shell(steps[1].command.replacing(":8080", with: ":\(port)"))

                expect(try server.messages, matches: steps[0])
                #expect(run.status == 0 && run.text.hasPrefix("200 "))
                expect(run.text, matches: steps[1])
            } catch {
                server.signal(SIGKILL)
                throw error
            }
            server.signal(SIGTERM)
            #expect(try await server.end().status == 143)
        }
    }
}
