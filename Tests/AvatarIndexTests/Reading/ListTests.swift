import AvatarCore
import Testing

@testable import AvatarIndex
import AvatarReports

@Suite(.timeLimit(.minutes(5))) struct ListTests {
    @Test(arguments: AvatarListQuery.Order.allCases, [false, true])
    func pagesVisitEveryEntryOnceInOrder(order: AvatarListQuery.Order, isReversed: Bool) throws {
        try withGoldenIndex { index in
            for limit in [1, 2, 7, 10, 1000] {
                var query = AvatarListQuery()
                query.order = order
                query.isReversed = isReversed
                query.limit = limit

                let keys = try pages(index, query)
                #expect(keys == expectedKeys(order, isReversed), "limit \(limit)")
            }
        }
    }

    struct Filter: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let keys: [String]
        let change: @Sendable (inout AvatarListQuery) -> Void

        init(_ testDescription: String, _ keys: [String], _ change: @escaping @Sendable (inout AvatarListQuery) -> Void)
        {
            self.testDescription = testDescription
            self.keys = keys
            self.change = change
        }
    }

    static let filters = [
        Filter("documents", ["https://xn--bcher-kva.example/shop.png", "name:logo"]) { $0.storageClass = .documents },
        Filter("evicted", ["https://img.example.com/evicted.png"]) { $0.state = .evicted },
        Filter("own", ["contact:dora#2", "name:logo"]) { $0.state = .own },
        Filter(
            "host on any port, in any case",
            ["http://slow.example.org:8080/ben.svg", "http://slow.example.org:8080/never.png"]
        ) { $0.host = "Slow.Example.ORG" },
        Filter("another host's end", []) { $0.host = "example.org" },
        Filter("wildcards are no wildcards", []) { $0.host = "%" },
        Filter("wildcards are no wildcards, one character", []) { $0.host = "_low.example.org" },
        Filter(
            "contact",
            [
                "http://slow.example.org:8080/ben.svg", "https://img.example.com/logo.png?size=96",
                "https://img.example.com/silhouette.png",
            ]
        ) { $0.contact = "ben" },
        Filter("ignored", ["https://img.example.com/silhouette.png"]) { $0.state = .ignored },
        Filter("a contact's quotes", ["crm/42 \"Zoë\" 🦊"]) { $0.contact = "zoë's \"id\"" },
        Filter("part of a name", ["crm/42 \"Zoë\" 🦊"]) { $0.contactName = "\" o'b" },
        Filter("part of an id is no part of a name", []) { $0.contactName = "ann" },
        Filter("wildcards are no wildcards, in a name", []) { $0.contactName = "%" },
        Filter("no such contact", []) { $0.contact = "zoe" },
        Filter("all at once", ["https://img.example.com/logo.png?size=96"]) {
            $0.storageClass = .caches
            $0.state = .fresh
            $0.host = "img.example.com"
            $0.contact = "dora"
        },
    ]

    @Test(arguments: filters)
    func aFilterGivesWhatItNames(_ filter: Filter) throws {
        try withGoldenIndex { index in
            for order in AvatarListQuery.Order.allCases {
                var query = AvatarListQuery()
                query.order = order
                query.limit = 1
                filter.change(&query)

                let keys = try pages(index, query)
                #expect(keys.sorted() == filter.keys.sorted(), "by \(order)")
            }
        }
    }

    @Test(arguments: [AvatarListQuery.Order.size, .lastAccess, .nextCheck])
    func whatIsNoEndOfAPageIsRefused(order: AvatarListQuery.Order) throws {
        try withGoldenIndex { index in
            for after in ["", "garbage", "12", "x https://example.com/", "99999999999999999999 a", " 1 a"] {
                var query = AvatarListQuery()
                query.order = order
                query.after = after

                #expect(thrownCode { _ = try index.list(query) } == .invalidConfiguration, "\(after)")
            }
        }
    }

    @Test(arguments: [0, -1])
    func aPageHoldsAtLeastOneEntry(limit: Int) throws {
        try withGoldenIndex { index in
            var query = AvatarListQuery()
            query.limit = limit

            #expect(thrownCode { _ = try index.list(query) } == .invalidConfiguration)
        }
    }

    @Test func aPageGoesOnAfterAnEntryThatWasRemoved() throws {
        try withGoldenIndex { index in
            var query = AvatarListQuery()
            query.order = .size
            query.isReversed = true
            query.limit = 10
            query.after = try index.list(query).next
            try index.write { transaction in
                let key = AvatarKey.stored("contact:dora#2")
                let state = try #require(try transaction.state(of: key))
                _ = try transaction.removeEntry(id: state.id, fileID: state.fileID, holder: "me")
            }

            #expect(try index.list(query).items.map(\.key.rawValue) == ["crm/42 \"Zoë\" 🦊"])
        }
    }

    @Test func aPageMayEndAtAnyKey() throws {
        try withIndex { index in
            let keys = [" a b ", "1 2", "\u{301}accent", "👩‍👩‍👧‍👦", "name:\n", "z"]
            try index.write { transaction in
                for key in keys { try transaction.add(key) }
            }
            for order in AvatarListQuery.Order.allCases {
                var query = AvatarListQuery()
                query.order = order
                query.limit = 1

                let listed = try pages(index, query)
                #expect(listed.sorted() == keys.sorted(), "by \(order)")
            }
        }
    }

    /// The keys of all pages.
    private func pages(_ index: AvatarIndex, _ query: AvatarListQuery) throws -> [String] {
        var query = query
        var keys: [String] = []
        while true {
            let page = try index.list(query)
            #expect(page.items.count <= query.limit)
            keys += page.items.map(\.key.rawValue)
            guard let next = page.next else { return keys }
            query.after = next
        }
    }

    /// The keys of the golden index, as the order is documented: the largest, the most recently used or the earliest first,
    /// entries without the value last, and equal ones by key.
    private func expectedKeys(_ order: AvatarListQuery.Order, _ isReversed: Bool) -> [String] {
        let ranks =
            switch order {
            case .key: Array(Self.keys.indices)
            case .size: [-2000, -2000, -300, 1, -1000, 1, -1000, 1, 1, -1000, -50]
            case .lastAccess: [-2, -2, -3, 1, -1, 1, -1, 1, 1, -4, 0]
            case .nextCheck: [99, 2, 3, 3, 9, 1, 9, 1, 1, 4, 99]
            }
        let signed = ranks.map { isReversed ? -$0 : $0 }
        return zip(signed, Self.keys.indices).sorted { $0 < $1 }.map { Self.keys[$0.1] }
    }

    /// In the order of their bytes.
    private static let keys = [
        "contact:dora#2",
        "crm/42 \"Zoë\" 🦊",
        "http://slow.example.org:8080/ben.svg",
        "http://slow.example.org:8080/never.png",
        "https://img.example.com/anna.png",
        "https://img.example.com/evicted.png",
        "https://img.example.com/logo.png?size=96",
        "https://img.example.com/missing.png",
        "https://img.example.com/silhouette.png",
        "https://xn--bcher-kva.example/shop.png",
        "name:logo",
    ]
}
