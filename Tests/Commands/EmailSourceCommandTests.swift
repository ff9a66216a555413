import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `sync --email-source`.
@Suite(.timeLimit(.minutes(5))) struct EmailSourceCommandTests {
    private static let cards = """
        BEGIN:VCARD\r
        VERSION:3.0\r
        UID:ada\r
        FN:Ada\r
        EMAIL;TYPE=HOME:ada@home.example\r
        EMAIL;TYPE=WORK,PREF:MyEmailAddress@example.com\r
        END:VCARD\r

        """
    /// The digest of myemailaddress@example.com, from Gravatar's documentation.
    private static let digest = "84059b07d4be67b806386c0aad8070a23f18836bbaae342275dc0a83414c32ee"

    /// A mistyped URL gets 404 for each address, as if no address had an image.
    @Test func sourceWithoutAnyImageIsAWarning() async throws {
        let origin = try await LoopbackOrigin.start()
        let image = SampleImage.png(seed: 1, byteCount: 900)
        origin.setResponse(.image(image, cacheControl: "max-age=3600"), for: "/two/\(Self.digest)")
        let workplace = try Workplace()
        try workplace.write("people.vcf", Self.cards)
        let words = ["sync", "people.vcf", "--allow-private-network", "--email-source"]

        let wrong = try await workplace.start(words + [origin.url("/wrong/")]).end()
        let again = try await workplace.start(words + [origin.url("/wrong/")]).end()
        let right = try await workplace.start(words + [origin.url("/two/")]).end()

        let warning =
            "avatars: warning: The e-mail source \"\(origin.url("/wrong/"))\" has no image for any address: it returned 404 or 410 "
            + "each time. If it should have some, check its URL.\n"
        #expect(wrong.status == 0 && again.status == 0 && right.status == 0)
        #expect(wrong.messages == warning && again.messages == warning)
        #expect(right.messages.isEmpty, "\(right.messages)")
        try await origin.stop()
    }

    @Test func serverRequestsSources() async throws {
        let origin = try await LoopbackOrigin.start()
        let image = SampleImage.png(seed: 1, byteCount: 900)
        origin.setResponse(.image(image, cacheControl: "max-age=3600"), for: "/two/\(Self.digest)")
        let workplace = try Workplace()
        try workplace.write("people.vcf", Self.cards)
        let options = ["--sync", "people.vcf", "--allow-private-network", "--email-source", origin.url("/two/")]
        let run = try await RunningServer.with(options, in: workplace) { server in
            let reply = try await ServedStore.wait(for: "/contacts/ada/picture", at: server) { $0.status == 200 }
            #expect(reply.body == image)
        }
        #expect(!run.messages.contains("--email-source"))
        let usage = try await workplace.run("serve", "--email-source", "libravatar")
        #expect(usage.status == 64 && usage.messages.contains("--email-source needs --sync."))
        try await origin.stop()
    }

    @Test func sourcesAreRequestedForContactsWithoutImage_onlyWithTheOption() async throws {
        let origin = try await LoopbackOrigin.start()
        let image = SampleImage.png(seed: 1, byteCount: 900)
        origin.setResponse(.image(image, cacheControl: "max-age=3600"), for: "/two/\(Self.digest)")
        let workplace = try Workplace()
        try workplace.write("people.vcf", Self.cards)
        try workplace.write("people.json", #"[{"id": "ben", "email": "ben@example.org"}]"#)
        let words = ["sync", "people.vcf", "people.json", "--allow-private-network", "--json"]
        let sources = ["--email-source", origin.url("/one/"), "--email-source", origin.url("/two")]

        let without = try await workplace.start(words).end()
        #expect(try without.object.number("withoutImage") == 2)
        #expect(origin.requestCount == 0)
        let first = try await workplace.start(words + sources).end()
        let second = try await workplace.start(words + sources).end()

        #expect(first.status == 0)
        #expect(try first.object.number("fetched") == 1 && first.object.number("withoutImage") == 1)
        // The preferred address comes first; the second source has it.
        #expect(origin.requests.filter { $0.path == "/one/\(Self.digest)" }.count == 1)
        #expect(origin.requestCount == 5)
        #expect(try second.object.number("requests") == 0 && second.object.number("fresh") == 1)
        let key = "email:" + origin.url("/two/\(Self.digest)?s=256&d=404")
        #expect(try await workplace.run("get", key, "--policy", "offline").bytes == image)
        let none = "email:" + origin.url("/one/\(Self.digest)?s=256&d=404")
        #expect(try await workplace.run("show", none).text.contains("no image for the address"))

        let receipt = try await workplace.run("remove", "--owner", "ada", "--erase", "--json")
        #expect(try receipt.object.number("rows") == 3 && receipt.object.number("files") == 1)
        try await origin.stop()
    }

    @Test func aSourceThatIsRefusedIsNotPrintedWithItsPassword() async throws {
        for source in ["https://ada:secret@example.org/", "example.org/?token=secret"] {
            let run = try await Workplace().run("sync", "people.vcf", "--email-source", source)
            #expect(run.status == 64 && run.messages.contains("--email-source must be libravatar, gravatar or a URL."))
            #expect(!run.messages.contains("secret"), "\(run.messages)")
        }
    }

    @Test(arguments: ["gravatar.com", "ftp://example.org/", "https://example.org/?d=mm", ""])
    func invalidSourceIsAUsageError(source: String) async throws {
        #expect(try await Workplace().run("sync", "people.vcf", "--email-source", source).status == 64)
    }
}
