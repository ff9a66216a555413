import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Options from environment variables and from the settings of the store.
@Suite(.timeLimit(.minutes(5))) struct EnvironmentTests {
    @Test func variablesSetOptions_andOptionsOverrideThem() async throws {
        try await withImages { origin in
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

    @Test func statisticsShowTheAddressGuardOfTheVariableOrTheSetting() async throws {
        let workplace = try Workplace()
        func shown(_ environment: [String: String] = [:]) async throws -> String? {
            try await workplace.run("stats", "--json", environment: environment).object.text("guard")
        }
        try await workplace.run("migrate").requireSuccess()

        #expect(try await shown() == "on")
        #expect(try await shown(["AVATARS_ALLOW_PRIVATE_NETWORK": "true"]) == "privateNetworks")
        try await workplace.run("config", "allow-private-network", "true").requireSuccess()
        #expect(try await shown() == "privateNetworks")
        #expect(try await shown(["AVATARS_ALLOW_PRIVATE_NETWORK": "false"]) == "on")
        let text = try await workplace.run("stats").text
        #expect(text.contains("off for loopback and private networks"))
    }

    @Test func storeKeepsNetworkOptions_andVariablesAndOptionsOverrideThem() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let url = origin.url("/1.png")
            let reload = ["fetch", url, "--policy", "reload"]
            try await workplace.run("config", "allow-private-network", "true").requireSuccess()
            try await workplace.run("config", "user-agent", "from-store").requireSuccess()

            let kept = try await workplace.run("fetch", url)
            let environment = ["AVATARS_USER_AGENT": "from-environment"]
            let variable = try await workplace.start(reload, environment: environment).end()
            let withAgent = reload + ["--user-agent", "from-option"]
            let option = try await workplace.start(withAgent, environment: environment).end()
            let refused = try await workplace.start(reload + ["--no-allow-private-network"]).end()
            let forbidding = ["AVATARS_ALLOW_PRIVATE_NETWORK": "false"]
            let refusedByVariable = try await workplace.start(reload, environment: forbidding).end()
            try await workplace.run("config", "user-agent", "default").requireSuccess()
            let back = try await workplace.start(reload).end()

            #expect([kept, variable, option, back].allSatisfy { $0.status == 0 })
            // The stored image stands in for one that may not be fetched.
            #expect(refused.messages.contains("is not allowed"), "\(refused.messages)")
            #expect(refusedByVariable.messages.contains("is not allowed"), "\(refusedByVariable.messages)")
            #expect(
                origin.requests.map { $0.headers["user-agent"] }
                    == ["from-store", "from-environment", "from-option", "AvatarStore"]
            )
        }
    }

    @Test func configNamesTheVariablesThatOverrideSettings() async throws {
        let workplace = try Workplace()
        let environment = ["AVATARS_CONNECTIONS": "8", "AVATARS_USER_AGENT": "ours", "AVATARS_PER_HOST": ""]
        try await workplace.run("migrate").requireSuccess()

        let all = try await workplace.run("config", environment: environment)
        let one = try await workplace.run("config", "connections", "16", environment: environment)
        let other = try await workplace.run("config", "budget", environment: environment)
        let quiet = try await workplace.run("config", "--quiet", environment: environment)

        let overrides = "Environment variables override settings: AVATARS_CONNECTIONS=8, AVATARS_USER_AGENT=ours."
        #expect(all.messages.contains(overrides))
        #expect(one.text.contains("16"))
        #expect(one.messages.contains("The environment variable AVATARS_CONNECTIONS=8 overrides the setting."))
        #expect(other.messages.isEmpty && quiet.messages.isEmpty)
    }

    @Test func settingOfACertificateFileIsAbsoluteAndChecked() async throws {
        let workplace = try Workplace()
        try workplace.write("ca.pem", "text")

        let missing = try await workplace.run("config", "ca-file", "missing.pem")
        let malformed = try await workplace.run("config", "user-agent", "two\nlines")
        let kept = try await workplace.run("config", "ca-file", "ca.pem", "--json")
        let fetched = try await workplace.run("fetch", "https://127.0.0.1:1/a.png")

        #expect(missing.status == 2 && missing.messages.contains("missing.pem"))
        #expect(malformed.status == 64)
        #expect(try kept.object.text("caFile")?.hasSuffix("/ca.pem") == true)
        #expect(try kept.object.text("caFile")?.hasPrefix("/") == true)
        #expect(fetched.messages.contains("must be a readable file of PEM certificates"), "\(fetched.messages)")
    }

    @Test(arguments: [
        ("AVATARS_CONNECTIONS", "many"), ("AVATARS_PER_HOST", "1.5"), ("AVATARS_TIMEOUT", "5 weeks"),
        ("AVATARS_ALLOW_PRIVATE_NETWORK", "yes"), ("AVATARS_MAX_REDIRECTS", "-"), ("AVATARS_CONNECTIONS", "0"),
        ("AVATARS_MAX_REDIRECTS", "-1"),
    ])
    func malformedVariableIsAUsageError(name: String, value: String) async throws {
        let run = try await Workplace().run("fetch", "http://127.0.0.1:1/a.png", environment: [name: value])

        #expect(run.status == 64)
        #expect(run.messages.contains(name) && run.messages.contains("not \"\(value)\""))
    }

    @Test func variablesWithoutEffectAreOneWarning_thatNamesTheNearest() async throws {
        let workplace = try Workplace()
        try await workplace.run("migrate").requireSuccess()
        let names = ["PERHOST", "OTHER_THING", "EMPTY"].map { "AVATARS" + "_" + $0 }
        let environment = [names[0]: "3", names[1]: "x", names[2]: ""]

        let run = try await workplace.run("stats", "--quiet", environment: environment)

        #expect(run.status == 0)
        #expect(
            run.messages == "avatars: warning: Environment variables without effect: \(names[1]), \(names[0]) "
                + "(did you mean AVATARS_PER_HOST?).\n"
        )
    }

    @Test func variablesOfThePackageAndItsScriptsAreNoWarning() async throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        var names: Set<String> = []
        for place in ["Package.swift", "scripts", "Tests", "Sources", "Fuzz/Sources", "Packaging"] {
            let url = root.appending(path: place)
            let inside = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
            for file in [url] + (inside?.compactMap { $0 as? URL } ?? []) {
                guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
                let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
                names.formUnion(text.matches(of: /AVATARS_[A-Z]+(_[A-Z]+)*/).map { String($0.output.0) })
            }
        }
        let values = Dictionary(uniqueKeysWithValues: names.map { ($0, "1") })
        let workplace = try Workplace()
        try await workplace.run("migrate").requireSuccess()

        let run = try await workplace.run("list", environment: values.merging(["AVATARS_STORE": "store"]) { $1 })

        #expect(names.isSuperset(of: ["AVATARS_NGINX", "AVATARS_WARNINGS_AS_ERRORS", "AVATARS_CA_FILE"]))
        #expect(run.status == 0 && run.messages.isEmpty, "\(run.messages)")
    }

    @Test(arguments: [(0o644, true), (0o604, true), (0o640, false), (0o600, false)])
    func headerFileThatAllCanReadIsAWarning(mode: Int, warns: Bool) async throws {
        let workplace = try Workplace()
        try workplace.write("my fields", "example.com X-Token: secret\n")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: workplace.path("my fields"))
        let warning =
            "avatars: warning: All users can read the header file \"my fields\", which has mode \(String(mode, radix: 8)). "
            + "Run `chmod 600 'my fields'`.\n"

        let option = try await workplace.run("fetch", "name", "--header-file", "my fields")
        let variable = try await workplace.run("fetch", "name", environment: ["AVATARS_HEADER_FILE": "my fields"])

        #expect(option.status == 1 && variable.status == 1)
        for run in [option, variable] {
            #expect(run.messages.contains(warning) == warns, "\(run.messages)")
            #expect(!run.messages.contains("secret"))
        }
    }
}
