internal import AvatarCore

extension ListCursor {
    /// The next byte that is not blank, which stays the next one; `nil` at the end.
    mutating func visible() throws(AvatarStoreError) -> UInt8? {
        while let byte = try peek() {
            guard byte.isBlank else { return byte }
            advance()
        }
        return nil
    }

    /// The next byte that is not blank, which stays the next one; at the end, an error that `expected` is missing.
    mutating func visible(or expected: String) throws(AvatarStoreError) -> UInt8 {
        guard let byte = try visible() else { throw cutShort(before: expected) }
        return byte
    }

    /// Moves past `byte`, which must come next.
    mutating func expect(_ byte: UInt8) throws(AvatarStoreError) {
        let found = try visible(or: byte.spelling)
        guard found == byte else { throw unexpected(found, insteadOf: byte.spelling) }
        advance()
    }

    /// The error that the next byte, `found`, breaks the list.
    func unexpected(_ found: UInt8, insteadOf expected: String) -> AvatarStoreError {
        fault("\(expected) was expected, found \(found.spelling)")
    }

    /// The error that the list ends where `expected` should have come.
    func cutShort(before expected: String) -> AvatarStoreError {
        fault("the list is cut short: \(expected) was expected, found the end")
    }

    /// The error that the list ends within a string.
    func cutShort(inStringOf line: Int) -> AvatarStoreError {
        fault("the list is cut short: it ends in a string that begins in line \(line)")
    }
}
