import AvatarCore
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct OwnerTests {
    @Test func linkingTwiceIsLinkingOnce() throws {
        try withIndex { index in
            let id = try index.write { try $0.add("https://example.com/a.png") }
            try index.write { try $0.link("anna", to: id) }
            try index.write { try $0.link("ben", to: id) }

            func changeCount() throws -> Int64? {
                try index.onWriteConnection("counting") { try $0.integer("SELECT total_changes()") }
            }
            let changes = try changeCount()
            try index.write { try $0.link("anna", to: id) }

            #expect(try changeCount() == changes)
            #expect(try index.overview(of: .stored("https://example.com/a.png"))?.contacts == ["anna", "ben"])
        }
    }

    @Test func linkingSaysWhetherTheContactHasOtherImages() throws {
        try withIndex { index in
            try index.write { transaction in
                let first = try transaction.add("https://example.com/a.png")
                let second = try transaction.add("https://example.com/b.png")

                #expect(try !transaction.linkAmongOthers("anna", to: first))
                #expect(try !transaction.linkAmongOthers("anna", to: first))
                #expect(try transaction.linkAmongOthers("anna", to: second))
                #expect(try transaction.linkAmongOthers("anna", to: first))
                #expect(try transaction.images(of: "anna").map(\.id).sorted() == [first, second])
                #expect(try !transaction.linkAmongOthers("ben", to: first))
            }
        }
    }

    @Test func unlinkingSaysWhetherTheImageWasTheirs() throws {
        try withIndex { index in
            let id = try index.write { try $0.add("https://example.com/a.png") }
            try index.write { try $0.link("anna", to: id) }

            #expect(try index.write { try $0.unlink("ben", from: id) } == false)
            #expect(try index.write { try $0.hasOwner(id) })
            #expect(try index.write { try $0.unlink("anna", from: id) })
            #expect(try index.write { try $0.unlink("anna", from: id) } == false)
            #expect(try index.write { try $0.hasOwner(id) } == false)
        }
    }

    @Test func aNewImageTakesThePlaceOfTheFetchedOnesOnly() throws {
        try withIndex { index in
            try index.write { transaction in
                let new = try transaction.add("https://example.com/new.png")
                let old = try transaction.add("https://example.com/old.png")
                let older = try transaction.add("https://example.org/older.png", host: "example.org:443")
                let own = try transaction.add("contact:anna", host: nil)
                for id in [new, old, older, own] { try transaction.link("anna", to: id) }
                try transaction.link("ben", to: old)

                let taken = try transaction.unlinkOtherFetchedImages(of: "anna", keeping: new)

                #expect(taken.map(\.id).sorted() == [old, older])
                #expect(try transaction.unlinkOtherFetchedImages(of: "anna", keeping: new).isEmpty)
                #expect(try transaction.images(of: "anna").map(\.id).sorted() == [new, own].sorted())
                #expect(try transaction.images(of: "ben").map(\.id) == [old])
            }
        }
    }

    @Test func imagesOfAContactComeWithTheirKeys() throws {
        try withIndex { index in
            try index.write { transaction in
                let with = try transaction.add("https://example.com/a.png", file: transaction.addFile(1))
                let without = try transaction.add("https://example.com/b.png")
                try transaction.link("anna", to: with)
                try transaction.link("anna", to: without)

                let images = try transaction.images(of: "anna").sorted { $0.id < $1.id }
                #expect(images.map(\.id) == [with, without])
                #expect(images.map(\.key.rawValue) == ["https://example.com/a.png", "https://example.com/b.png"])
                #expect(try transaction.images(of: "nobody").isEmpty)
            }
        }
    }

    @Test func onlyAContactWithThisOneFetchedImageIsLinked() throws {
        try withIndex { index in
            let (image, other, own) = try index.write { transaction in
                try (
                    transaction.add("https://example.com/a.png"), transaction.add("https://example.com/b.png"),
                    transaction.add("contact:photo", host: nil)
                )
            }
            try index.write { transaction in
                try transaction.link("exact", to: image)
                try transaction.link("with an own one", to: image)
                try transaction.link("with an own one", to: own)
                try transaction.link("another", to: other)
                try transaction.link("both", to: image)
                try transaction.link("both", to: other)
            }

            let contacts = ["exact", "with an own one", "another", "both", "nobody"]
            let unlinked = try index.unlinked(contacts.map { (contact: $0, avatarID: image) })

            #expect(unlinked == [false, false, true, true, true])
        }
    }

    @Test(arguments: ["", "' OR 1=1 --", "Zoë", "Zoe\u{308}", "👩‍👩‍👧", "a\nb"])
    func aContactIsWhateverTheHostProgramSays(contact: String) throws {
        try withIndex { index in
            let id = try index.write { try $0.add("https://example.com/a.png") }
            guard !contact.isEmpty else {
                #expect(thrownCode { try index.write { try $0.link(contact, to: id) } } == .storage)
                return
            }
            try index.write { try $0.link(contact, to: id) }

            let owners = try index.overview(of: .stored("https://example.com/a.png"))?.contacts
            #expect(owners.map { $0.map { Array($0.utf8) } } == [Array(contact.utf8)])
            #expect(try index.unlinked([(contact: contact, avatarID: id)]) == [false])
        }
    }
}
