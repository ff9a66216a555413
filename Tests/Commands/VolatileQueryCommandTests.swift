import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct VolatileQueryCommandTests {
    private func list(_ signature: String, _ origin: LoopbackOrigin) -> String {
        let people = ["ada", "bob"].map { name in
            "{\"id\": \"\(name)\", \"avatarURL\": \"\(origin.url("/\(name).png"))?sig=\(signature)\"}"
        }
        return "[\(people.joined(separator: ", "))]"
    }

    @Test func theDryRunNamesTheSettingThatEndsTheDownloads() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let sync = ["sync", "people.json", "--allow-private-network", "--json"]
            try workplace.write("people.json", list("a", origin))
            try await workplace.start(sync).end().requireSuccess()
            try workplace.write("people.json", list("b", origin))

            let plan = try await workplace.start(sync + ["--dry-run"]).end()
            let found = try #require(plan.object.objects("changingQueries")?.first)
            #expect(found["host"] as? String == "127.0.0.1")
            #expect(found["contacts"] as? Int == 2)
            let setting = try #require(found["volatileQuery"] as? String)
            #expect(setting == "127.0.0.1 sig")
            #expect(plan.messages.contains("avatars config volatile-query \"127.0.0.1 sig\""))
            // A URL in a message has no query.
            #expect(!plan.messages.contains("sig=b"))

            try await workplace.run("config", "volatile-query", setting).requireSuccess()
            let next = try await workplace.start(sync).end()
            #expect(try next.object.number("requests") == 0)
            #expect(try next.object.number("fresh") == 2)
            #expect(try next.object.objects("changingQueries")?.isEmpty == true)

            let other = origin.url("/ada.png") + "?sig=other"
            #expect(try await workplace.run("path", other).status == 0)
            let shown = try await workplace.run("show", other, "--json").object
            #expect(shown.text("key") == origin.url("/ada.png"))
            #expect(shown.text("sourceURL") == origin.url("/ada.png") + "?sig=b")
        }
    }

    @Test func contactsThatTheParametersTellApartAreNamed() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write(
                "people.json",
                """
                [{"id": "1", "avatarURL": "\(origin.url("/ada.png"))?user=1"},
                 {"id": "2", "avatarURL": "\(origin.url("/ada.png"))?user=2"}]
                """
            )
            try await workplace.run("config", "volatile-query", "127.0.0.1 *").requireSuccess()
            let run = try await workplace.run("sync", "people.json", "--allow-private-network", "--json")
            #expect(run.status == 0)
            let clash = try #require(run.object.objects("queryClashes")?.first)
            #expect(clash["contacts"] as? Int == 2)
            #expect(run.messages.contains("`volatile-query` does not apply to 2 contacts (\"1\", \"2\")"))
            let doctor = try await workplace.run("doctor", "--json")
            #expect(doctor.text.contains("\"queries\""))
        }
    }

    @Test func theSettingIsKeptForEachHost() async throws {
        let workplace = try Workplace()
        for value in ["a.example sig", "B.example e,X-Amz-*", "a.example t"] {
            try await workplace.run("config", "volatile-query", value).requireSuccess()
        }
        let both = try await workplace.run("config", "volatile-query", "--json").object
        #expect(both.texts("volatileQuery") == ["a.example t", "b.example e,X-Amz-*"])
        try await workplace.run("config", "volatile-query", "A.example none").requireSuccess()
        let one = try await workplace.run("config", "volatile-query")
        #expect(one.text.contains("\"b.example e,X-Amz-*\"") && !one.text.contains("a.example"))
        try await workplace.run("config", "volatile-query", "default").requireSuccess()
        #expect(try await workplace.run("config", "--json").object.texts("volatileQuery") == [])
        let refused = try await workplace.run("config", "volatile-query", "a.example:80 sig")
        #expect(refused.status == 64)
        #expect(refused.messages.contains("is not the name of a host"))
    }
}
