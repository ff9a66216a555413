import AvatarAddressBooks
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AddressBooksExamples {
    /// A book without a card.
    private static func answer(_ request: LoopbackOrigin.Request) -> LoopbackOrigin.Response {
        let book = """
            <response><href>/</href><propstat><prop><resourcetype><collection/>\
            <c:addressbook/></resourcetype><sync-token>1</sync-token></prop></propstat></response>
            """
        let text = """
            <multistatus xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav">\
            \(request.method == "PROPFIND" ? book : "<sync-token>1</sync-token>")</multistatus>
            """
        return LoopbackOrigin.Response(status: 207, body: .bytes(Array(text.utf8)))
    }

    @Test func serverIsSynced() async throws {
        let origin = try await LoopbackOrigin.start(respond: Self.answer)
        let dav = origin.url("/")
        try await StoreFixture.withStore { fixture in
            let (store, password) = (fixture.store, "secret")

            var server = try CardDAVServer(url: dav)
            server.login = CardDAVServer.Login(user: "ada", password: password)

            let report = try await store.sync(from: [.cardDAV(server)])
            for source in report.sources {
                print(source.name, source.changed, source.removed, source.failure?.message ?? "")
            }

            #expect(report.sources.map(\.failure?.message) == [nil])
        }
        try await origin.stop()
    }
}
