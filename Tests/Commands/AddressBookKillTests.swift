import AvatarDigest
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Random changes at a real server between syncs that are killed: in the end the store is as after a first sync into an empty one.
@Suite(
    .enabled(if: !DAVServerProgram.Kind.installed.isEmpty, "needs Radicale or xandikos, which `scripts/test` unpacks"),
    .timeLimit(.minutes(30))
)
struct AddressBookKillTests {
    @Test(arguments: DAVServerProgram.Kind.installed)
    func killedSyncsEndAsAFreshOne(_ kind: DAVServerProgram.Kind) async throws {
        let (seed, changes) = (TestMode.seed, TestMode.isThorough ? 300 : 36)
        try await DAVServerProgram.with(kind) { server in
            try await server.makeBook("family")
            let images = try await LoopbackOrigin.start { request in
                let image = SampleImage.png(seed: UInt64(request.path.utf8.count), byteCount: 700)
                return .image(image, cacheControl: "max-age=86400")
            }
            var series = try Series(server, images, seed: seed)
            var made = 0
            while made < changes {
                made += try await series.change()
                try await series.killedSync()
                guard made % 24 > 20 || made >= changes else { continue }
                try await series.compare()
            }
            // A campaign without kills tests nothing.
            #expect(series.kills > 0)
            print("address books: \(kind.rawValue), \(made) changes, \(series.kills) kills, seed \(seed)")
            try await images.stop()
        }
    }

    /// A store, the server, and the random numbers that decide what happens.
    private struct Series {
        private let server: DAVServerProgram
        private let images: LoopbackOrigin
        private let workplace: Workplace
        private let seed: UInt64
        private var random: SplitMix64
        private var fresh = 0
        /// The time that a whole sync takes.
        private var longest = Duration.milliseconds(300)
        private(set) var kills = 0

        private static let books = ["people", "family"]

        init(_ server: DAVServerProgram, _ images: LoopbackOrigin, seed: UInt64) throws {
            (self.server, self.images, self.seed) = (server, images, seed)
            random = SplitMix64(seed: seed)
            workplace = try Workplace()
            try workplace.write("password", DAVServerProgram.password + "\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path("password"))
        }

        private mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

        // MARK: Changes

        /// Makes some changes at the server, and returns how many.
        mutating func change() async throws -> Int {
            let count = 1 + number(below: 5)
            for _ in 0..<count { try await changeOne() }
            if number(below: 10) == 0 { _ = try server.forgetTokens(of: Self.books[number(below: 2)]) }
            return count
        }

        private mutating func changeOne() async throws {
            let book = server.book(Self.books[number(below: 2)])
            let contact = number(below: 16)
            // A card may lie under another name than that of its contact.
            let path = book + "c\(contact)\(number(below: 4) == 0 ? "-b" : "").vcf"
            switch number(below: 8) {
            case 0...3: try await put(path, contact)
            case 4, 5: try await accept(server.send("DELETE", path))
            case 6:
                // Renamed: the card goes, and comes again under another name.
                try await accept(server.send("DELETE", book + "c\(contact).vcf"))
                try await put(book + "c\(contact)-b.vcf", contact)
            default:
                // Moved to the other book. In between it is in both, and so there are two cards with one UID.
                try await put(server.book("people") + "c\(contact).vcf", contact)
                try await put(server.book("family") + "c\(contact).vcf", contact)
                if number(below: 2) == 0 { try await accept(server.send("DELETE", path)) }
            }
        }

        private mutating func put(_ url: String, _ contact: Int) async throws {
            let version = number(below: 5)
            let lines: [String]
            switch version {
            case 0: lines = []
            case 1: lines = ["PHOTO;VALUE=URI:" + images.url("/" + String(repeating: "p", count: contact + 1))]
            default:
                let image = SampleImage.png(seed: UInt64(contact * 10 + version), byteCount: 600)
                lines = ["PHOTO;ENCODING=b;TYPE=PNG:" + Data(image).base64EncodedString()]
            }
            let card = DAVServerProgram.card("Contact \(contact) \(version)", uid: "c\(contact)", lines)
            try await accept(server.send("PUT", url, card, type: "text/vcard"))
        }

        /// A card may not be there, or its UID be taken: the server decides what changes.
        private func accept(_ answer: (status: Int, text: String)) throws {
            #expect(
                (200..<300).contains(answer.status) || [404, 409, 412].contains(answer.status),
                "\(answer), seed \(seed)"
            )
        }

        // MARK: Syncs

        private func arguments(_ store: String) -> [String] {
            [
                "sync", server.url, "--user", DAVServerProgram.user, "--password-file", "password", "--prune-all",
                "--quiet", "--allow-private-network", "--store", store,
            ]
        }

        /// Starts a sync, and kills it at any moment, often an early one.
        mutating func killedSync() async throws {
            let share = Double(number(below: 1_000)) / 1_000
            let program = try await workplace.start(arguments("store"))
            // The random moment is what is tested; nothing waits for a state here.
            try await Task.sleep(for: longest * (1.2 * share * share))
            if !program.hasEnded {
                program.signal(SIGKILL)
                kills += 1
            }
            _ = try await program.end()
        }

        /// Compares the store with a new one.
        mutating func compare() async throws {
            fresh += 1
            let begin = ContinuousClock.now
            for store in ["store", "fresh-\(fresh)"] {
                let run = try await workplace.start(arguments(store)).end()
                #expect(run.status == 0, "\(run.messages), seed \(seed)")
            }
            longest = (.now - begin) / 2
            let (contacts, new) = (try await contacts("store"), try await contacts("fresh-\(fresh)"))
            #expect(contacts == new, "seed \(seed)")
            let (images, newImages) = (try await images("store"), try await images("fresh-\(fresh)"))
            #expect(images == newImages, "seed \(seed)")
            #expect(try await workplace.run("verify", "--store", "store").status == 0, "seed \(seed)")
        }

        private func contacts(_ store: String) async throws -> [String] {
            try await workplace.run("contacts", "--store", store, "--json").objects.map { contact in
                let texts = [contact.text("id"), contact.text("name"), contact.text("key")].map { $0 ?? "-" }
                return (texts + ["\(contact.flag("hasImage") ?? false)"] + (contact.texts("sources") ?? []))
                    .joined(separator: " ")
            }
        }

        /// The images that contacts use, by their digests. The store keeps those at URLs that no contact uses any more.
        private func images(_ store: String) async throws -> [String] {
            try await workplace.run("list", "--store", store, "--json").objects.compactMap { image in
                guard let owners = image.texts("owners"), !owners.isEmpty else { return nil }
                let bytes = try image.text("localFile").map(workplace.read) ?? []
                return "\(image.text("key") ?? "-") \(owners.joined(separator: ",")) \(SHA256.hash(bytes).prefix(4))"
            }
            .sorted()
        }
    }
}
