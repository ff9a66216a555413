import Testing

@testable import AvatarCore

/// The plan of a sync: items, entries, rules, hosts and time in, steps out. No store, no server, no clock.
@Suite(.timeLimit(.minutes(5)))
struct SyncPlannerTests {
    private static let now = Timestamp(milliseconds: 1_000_000_000)

    /// An entry for `url`; `fresh` and `failure` as of now.
    private static func entry(
        _ id: Int64,
        _ url: String,
        isStored: Bool = true,
        isFresh: Bool = true,
        failure: FailureKind? = nil
    ) throws -> AvatarEntry {
        var validation = ValidationRecord()
        validation.checked = now.adding(seconds: -60)
        validation.freshUntil = now.adding(seconds: isFresh ? 60 : -60)
        validation.nextCheck = now.adding(seconds: failure != nil || isFresh ? 60 : -60)
        validation.failure = failure
        let file = FileRecord(
            id: id,
            storageClass: .caches,
            path: "aa/\(id).png",
            sizeBytes: 10,
            mediaType: "image/png",
            width: 1,
            height: 1
        )
        return AvatarEntry(
            id: id,
            key: try AvatarKey(parsing: url),
            sourceURL: try AvatarKey(parsing: url).url,
            storageClass: .caches,
            file: isStored ? file : nil,
            sha256: nil,
            lastAccessMicroseconds: nil,
            absence: nil,
            validation: validation
        )
    }

    private static let a = "https://a.example/a.png"
    private static let b = "https://b.example/b.png"

    private static func keys(_ urls: String...) -> [AvatarKey] {
        urls.map { AvatarKey(stored: $0) }
    }

    /// The steps as short words.
    private static func plan(
        _ items: [SyncItem],
        _ entries: [AvatarEntry] = [],
        lost: Set<Int64> = [],
        images: [(contact: String, keys: [AvatarKey])] = [],
        rules: SyncRules = SyncRules(),
        paused: [String] = []
    ) throws -> [String] {
        var planner = SyncPlanner(rules)
        return try plan(items, entries, lost: lost, images: images, paused: paused, by: &planner)
    }

    private static func plan(
        _ items: [SyncItem],
        _ entries: [AvatarEntry] = [],
        lost: Set<Int64> = [],
        images: [(contact: String, keys: [AvatarKey])] = [],
        paused: [String] = [],
        by planner: inout SyncPlanner
    ) throws -> [String] {
        let health = HostHealth(failures: 5, failure: .timeout, restsUntil: now.adding(seconds: 30), blockedUntil: nil)
        let hosts = SyncHosts(
            Dictionary(uniqueKeysWithValues: paused.map { ($0, health) }),
            timeLimit: nil,
            ignoresPauses: false
        )
        let known = SyncSnapshot(entries: entries, lost: lost, images: images)
        return try planner.plan(items, known: known, in: SyncCircumstances(hosts: hosts, now: now)).compactMap(word)
    }

    private static func word(_ step: SyncStep) -> String? {
        switch step {
        case .contact: nil
        case .settled: "settled"
        case .image(let image):
            switch image.action {
            case .keep: "keep \(name(image.key))"
            case .skip(let reason): "skip \(name(image.key)) \(word(reason))"
            case .request(_, let isNew): "\(isNew ? "fetch" : "revalidate") \(name(image.key))"
            case .leaveOut: "leave out \(name(image.key))"
            case .share: "share \(name(image.key))"
            case .wait: "wait \(name(image.key))"
            case .refuse: "refuse \(name(image.key))"
            }
        case .photos(let photos): "photos -\(photos.formerPhotos.count) -\(photos.formerImages.count)"
        case .withoutImage(_, let former): "none -\(former.count)"
        case .link(let key, let contact, let keepsGone): "link \(contact) \(name(key))\(keepsGone ? " keeping" : "")"
        case .replace(let contact, let former, let by): "replace \(contact) \(former.count) by \(by.count)"
        case .refused(let text, _, _, _): "refused \(text)"
        case .postponed(let count, _): "postponed \(count)"
        case .unreadable: "unreadable"
        case .duplicate: "duplicate"
        }
    }

    private static func name(_ key: AvatarKey) -> String {
        String(key.rawValue.split(separator: "/").last ?? "")
    }

    private static func word(_ reason: SkipReason) -> String {
        switch reason {
        case .backoff: "backoff"
        case .hostPaused: "paused"
        case .limit: "limit"
        case .offline, .forbidden: "offline"
        case .timeIsUp, .interrupted: "ended"
        }
    }

    @Test func classifiesEachImageOfAList() throws {
        let entries = [
            try Self.entry(1, Self.a), try Self.entry(2, Self.b, isFresh: false),
            try Self.entry(3, "https://c.example/c.png", isStored: false, failure: .timeout),
            try Self.entry(4, "https://d.example/d.png"),
        ]
        let items = "abcde".map { SyncItem.listed(url: "https://\($0).example/\($0).png", contact: String($0)) }

        let steps = try Self.plan(items, entries, lost: [4])

        #expect(steps == ["keep a.png", "revalidate b.png", "skip c.png backoff", "fetch d.png", "fetch e.png"])
    }

    @Test func plansEachImageOnceHoweverManyContactsUseIt() throws {
        let items = [
            SyncItem.listed(url: Self.a, contact: "ada"),
            .listed(url: "HTTPS://A.example:443/x/../a.png", contact: "eve"),
            .listed(url: "ftp://a.example/a.png", contact: "max"),
            .listed(url: "ftp://a.example/a.png", contact: "moe"),
        ]

        #expect(try Self.plan(items) == ["fetch a.png", "share a.png", "refused ftp://a.example/a.png", "settled"])
    }

    @Test func skipsImagesOfPausedHosts() throws {
        let items = [SyncItem.listed(url: Self.a, contact: "ada"), .listed(url: Self.b, contact: "eve")]

        #expect(try Self.plan(items, paused: ["a.example:443"]) == ["skip a.png paused", "fetch b.png"])
    }

    @Test func plansNoMoreRequestsThanTheLimitAllows() throws {
        var rules = SyncRules()
        rules.requestLimit = 1
        var planner = SyncPlanner(rules)

        let first = try Self.plan(
            [.listed(url: Self.a, contact: "ada"), .listed(url: Self.b, contact: "eve")],
            by: &planner
        )
        #expect(first == ["fetch a.png", "skip b.png limit"])
        #expect(planner.hasReachedLimit)

        planner.returnRequest()
        #expect(
            try Self.plan([.listed(url: "https://c.example/c.png", contact: "max")], by: &planner) == ["fetch c.png"]
        )
    }

    /// Without network, over the limit, without room: in this order, and no request is used up that is not sent.
    @Test(arguments: [
        (true, true, ["skip a.png offline", "skip b.png offline"]),
        (false, true, ["fetch a.png", "skip b.png limit"]), (false, false, ["leave out a.png", "revalidate b.png"]),
    ])
    func plansNoRequestThatCannotBeSent(isOffline: Bool, hasRoom: Bool, expected: [String]) throws {
        var rules = SyncRules()
        rules.requestLimit = 1
        var planner = SyncPlanner(rules)
        let hosts = SyncHosts([:], timeLimit: nil, ignoresPauses: false)
        var circumstances = SyncCircumstances(hosts: hosts, now: Self.now)
        circumstances.isOffline = isOffline
        circumstances.hasRoom = hasRoom
        let items = [SyncItem.listed(url: Self.a, contact: "ada"), .listed(url: Self.b, contact: "eve")]
        let known = SyncSnapshot(entries: [try Self.entry(2, Self.b, isFresh: false)], lost: [], images: [])

        let steps = try planner.plan(items, known: known, in: circumstances).compactMap(Self.word)

        #expect(steps == expected)
        #expect(known.lacksImage(for: items))
    }

    // MARK: Candidates

    @Test func plansTheFirstCandidateThatMayHaveAnImage() throws {
        let gone = try Self.entry(1, Self.a, isStored: false, failure: .gone)
        let item = SyncItem.candidates(Self.keys(Self.a, Self.b), contact: "ada")

        #expect(try Self.plan([item]) == ["fetch a.png"])
        #expect(try Self.plan([item], [gone]) == ["link ada a.png", "fetch b.png"])
        #expect(try Self.plan([item], [gone], images: [("ada", Self.keys(Self.a))]) == ["fetch b.png"])
    }

    @Test func waitsForACandidateThatIsRequestedAlready() throws {
        let items = [
            SyncItem.listed(url: Self.a, contact: "eve"), .candidates(Self.keys(Self.a, Self.b), contact: "ada"),
        ]

        #expect(try Self.plan(items) == ["fetch a.png", "wait a.png"])
        #expect(try Self.plan(items, [try Self.entry(1, Self.a)]) == ["keep a.png", "share a.png"])
    }

    @Test func goesOnToTheNextCandidateWhenTheOriginHasNone() throws {
        var planner = SyncPlanner(SyncRules())
        let item = SyncItem.candidates(Self.keys(Self.a, Self.b), contact: "ada")
        #expect(try Self.plan([item], by: &planner) == ["fetch a.png"])
        let chain = CandidateChain(
            contact: "ada",
            candidates: Self.keys(Self.a, Self.b),
            lowDataURL: nil,
            linked: []
        )
        planner.settle(Self.keys(Self.a)[0])

        let known = SyncSnapshot(entries: [], lost: [], images: [])
        let hosts = SyncHosts([:], timeLimit: nil, ignoresPauses: false)
        let steps = try planner.advance(chain, known: known, in: SyncCircumstances(hosts: hosts, now: Self.now))

        #expect(steps.compactMap(Self.word) == ["fetch b.png"])
    }

    @Test func unlinksFormerCandidatesThatAreGone() throws {
        let former = try Self.entry(1, "https://f.example/former.png", isStored: false, failure: .gone)
        let item = SyncItem.candidates(Self.keys(Self.a, Self.b), contact: "ada")

        let known = SyncSnapshot(entries: [former], lost: [], images: [("ada", [former.key])])
        let unlinked = SyncPlanner.formerImages(of: [item], known)

        #expect(unlinked.map(\.key) == [former.key])
        #expect(unlinked.map(\.contact) == ["ada"])
    }

    @Test func believesAnEmailSourceForAWhile() throws {
        let none = try Self.entry(1, "email:\(Self.a)", isStored: false, failure: .gone)
        let item = SyncItem.candidates([none.key], contact: "ada")
        var rules = SyncRules()
        rules.emailRecheckMilliseconds = 61_000

        #expect(try Self.plan([item], [none], rules: rules) == ["link ada a.png", "none -0"])
        rules.emailRecheckMilliseconds = 60_000
        #expect(try Self.plan([item], [none], rules: rules) == ["fetch a.png"])
    }

    // MARK: Contacts

    @Test func replacesPhotosOfAnEarlierListByAURL() throws {
        let photo = try AvatarKey(contact: "ada")
        let item = SyncItem.listed(url: Self.a, contact: "ada")

        #expect(try Self.plan([item], images: [("ada", [photo])]) == ["replace ada 1 by 1", "fetch a.png"])
        let photos = ListedPhotos(Contact(id: "ada", images: [.photo(ContactPhoto(bytes: [1])), .url(Self.a)]))
        let both = [SyncItem.photos(try #require(photos)), item]
        #expect(try Self.plan(both, images: [("ada", [photo])]) == ["photos -0 -0", "fetch a.png"])
    }

    @Test func namesTheContactsThatLeft() throws {
        var rules = SyncRules()
        rules.prunes = true
        var planner = SyncPlanner(rules)
        #expect(!planner.mayPrune)

        _ = try Self.plan([.listed(url: Self.a, contact: "ada"), .withoutImage], by: &planner)
        #expect(planner.mayPrune)
        #expect(planner.leavers(among: ["ada", "eve"]) == ["eve"])

        _ = try Self.plan([.unreadable(nil, reason: "it is none")], by: &planner)
        #expect(!planner.mayPrune)
    }
}
