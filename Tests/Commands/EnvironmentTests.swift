import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Options from environment variables.
@Suite struct EnvironmentTests {
    @Test func variablesSetOptions_andOptionsOverrideThem() async throws {
        try await withPictures { origin in
            let workplace = try Workplace()
            let url = origin.url("/1.png")
            try workplace.write("fields.txt", "127.0.0.1:\(origin.port) X-Team: avatars\n")
            let environment = [
                "AVATARS_ALLOW_PRIVATE_NETWORK": "true", "AVATARS_USER_AGENT": "from-environment",
                "AVATARS_HEADER_FILE": "fields.txt", "AVATARS_TIMEOUT": "5", "AVATARS_CONNECTIONS": "",
            ]

            let refused = try await workplace.run("fetch", url)
            let first = try await workplace.run("fetch", url, environment: environment)
            let second = try await workplace.run(
                "fetch",
                url,
                "--policy",
                "reload",
                "--user-agent",
                "from-option",
                environment: environment
            )

            #expect(refused.status == 1 && refused.text.contains("forbiddenAddress"))
            #expect(first.status == 0 && second.status == 0)
            let requests = origin.requests
            #expect(requests.map { $0.headers["user-agent"] } == ["from-environment", "from-option"])
            #expect(requests.allSatisfy { $0.headers["x-team"] == "avatars" })
        }
    }

    @Test(arguments: [
        ("AVATARS_CONNECTIONS", "many"), ("AVATARS_PER_HOST", "1.5"), ("AVATARS_TIMEOUT", "5s"),
        ("AVATARS_ALLOW_PRIVATE_NETWORK", "yes"), ("AVATARS_MAX_REDIRECTS", "-"),
    ])
    func malformedVariableIsAUsageError(name: String, value: String) async throws {
        let run = try await Workplace().run("fetch", "http://127.0.0.1:1/a.png", environment: [name: value])

        #expect(run.status == 64)
        #expect(run.messages.contains(name) && run.messages.contains("not \"\(value)\""))
    }

    @Test func variableIsInTheRangeOfItsOption() async throws {
        let run = try await Workplace().run(
            "fetch",
            "http://127.0.0.1:1/a.png",
            environment: ["AVATARS_CONNECTIONS": "0"]
        )

        #expect(run.status == 64 && run.messages.contains("must be at least 1"))
    }
}
