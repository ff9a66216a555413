import AvatarCore
import Testing

/// RFC 9110 section 14.4.
@Suite(.timeLimit(.minutes(5)))
struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-0/1", 0, 0, 1),
            ("bytes 21010-47021/47022", 21_010, 47_021, 47_022),
            ("Bytes 5-9/*", 5, 9, nil),
            ("bytes 000-009/010", 0, 9, 10),
            (
                "bytes 999999999999999997-999999999999999998/999999999999999999", 999_999_999_999_999_997,
                999_999_999_999_999_998,
                999_999_999_999_999_999
            ),
        ] as [(String, Int64, Int64, Int64?)]
    )
    func readsARange(_ text: String, _ first: Int64, _ last: Int64, _ total: Int64?) {
        let content = ContentRange(text)

        #expect(content?.range == first...last)
        #expect(content?.total == total)
    }

    @Test func readsAnUnsatisfiedRange() {
        let content = ContentRange("bytes */1234")

        #expect(content != nil)
        #expect(content?.range == nil)
        #expect(content?.total == 1_234)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "0-1/2", "bytes 0-1", "bytes 0-1/", "bytes /2", "bytes -1/2", "bytes 0-/2", "bytes */*",
        "bytes *", "bytes 1-0/2", "bytes 0-2/2", "bytes 0-1/1", "bytes 0-1/0", "bytes  0-1/2", "bytes 0 -1/2",
        "bytes=0-1/2",
        "bytes 0-1/2/3", "bytes 0-1-2/3", "bytes +0-1/2", "bytes 0-1/+2", "bytes 0x0-1/2", "bytes 0-1/2.0",
        "bytes 0-1/x",
        "items 0-1/2", "bytes 0-1/2, bytes 3-4/5", "bytes ٠-١/٢", "bytes 0-1/9223372036854775808",
        "bytes 0-18446744073709551616/*",
    ])
    func readsNothingElse(_ text: String) {
        #expect(ContentRange(text) == nil)
    }
}
