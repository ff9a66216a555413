import Testing

@testable import AvatarDigest

/// The published examples of FIPS 180-4 and RFC 1321, and bytes that come in pieces.
@Suite(.timeLimit(.minutes(5)))
struct DigestTests {
    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            1, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "a", 1_000_000,
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ])
    func sha256(of text: String, times count: Int, is digest: String) {
        #expect(Self.hex(SHA256.hash(String(repeating: text, count: count).utf8)) == digest)
    }

    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func md5(of text: String, is digest: String) {
        #expect(Self.hex(MD5.hash(Array(text.utf8))) == digest)
    }

    /// The test cases 1, 2 and 6 of RFC 4231.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func authenticationCode(key: [UInt8], message: String, is code: String) {
        #expect(Self.hex(SHA256.authenticationCode(of: message.utf8, key: key)) == code)
    }

    @Test(arguments: [1, 7, 63, 64, 65, 1000])
    func piecesGiveTheHashOfTheWhole(pieceSize: Int) {
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var hash = SHA256()
        var rest = bytes[...]
        // Every other piece has no contiguous storage.
        var isContiguous = false
        while !rest.isEmpty {
            isContiguous.toggle()
            if isContiguous {
                hash.update(rest.prefix(pieceSize))
            } else {
                hash.update(AnySequence(rest.prefix(pieceSize)))
            }
            rest = rest.dropFirst(pieceSize)
        }
        #expect(hash.finalize() == SHA256.hash(bytes))
    }

    @Test func aHashGoesOnAfterItsDigestIsTaken() {
        var hash = SHA256()
        hash.update("ab".utf8)
        var copy = hash
        _ = hash.finalize()
        hash.update("c".utf8)
        copy.update("d".utf8)
        #expect(hash.finalize() == SHA256.hash("abc".utf8))
        #expect(copy.finalize() == SHA256.hash("abd".utf8))
    }
}
