import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// The look-up of an image by the digest of an address must not tell which addresses the index has.
@Suite(.timeLimit(.minutes(5))) struct AddressLookupTests {
    private static let known = [UInt8](repeating: 1, count: 32)
    private static let unknown = [UInt8](repeating: 2, count: 32)

    /// Runs `body` with an index of many contacts, of whom Ben has an address and no image.
    private func withContacts(_ body: (AvatarIndex) throws -> Void) throws {
        try withIndex { index in
            try index.write { transaction in
                for number in 0..<200 {
                    let digest = [UInt8](repeating: 0, count: 24) + withUnsafeBytes(of: UInt64(number), Array.init)
                    let contact = ListedContact(id: "c\(number)", name: nil, addresses: [digest])
                    try transaction.record(contact, sortName: nil)
                    try transaction.link(
                        contact.id,
                        to: transaction.add("u\(number)", file: transaction.addFile(number))
                    )
                }
                let ben = ListedContact(id: "ben", name: nil, addresses: [Self.known])
                try transaction.record(ben, sortName: nil)
            }
            try body(index)
        }
    }

    @Test func unknownAddressRunsTheSameStatements() throws {
        var statements: [Set<String>] = []
        for digest in [Self.known, Self.unknown] {
            try withContacts { index in
                #expect(try index.image(withAddress: digest) == nil)
                statements.append(try index.readers.read { Set($0.connection.preparedSQL) })
            }
        }
        #expect(statements[0] == statements[1])
        #expect(statements[1].contains { $0.contains("FROM owner") })
    }

    /// An address of a contact differs by the few instructions that return a row, not by a look-up in a tree.
    @Test func unknownAddressTakesAsManyInstructions() throws {
        try withContacts { index in
            func instructions(_ digest: [UInt8]) throws -> Int {
                try index.readers.read { connection in
                    var count = 0
                    let image = try connection.interruptible(every: 1, tick: { count += 1 }) {
                        try AvatarIndex.image(withAddress: digest, on: connection)
                    }
                    #expect(image == nil)
                    return count
                }
            }
            // The first look-up prepares the statements.
            _ = try instructions(Self.unknown)
            let known = try instructions(Self.known)
            let unknown = try instructions(Self.unknown)

            #expect(unknown > 20)
            #expect(abs(known - unknown) <= 4, "\(known), \(unknown)")
        }
    }
}
