import AvatarCore
import Testing

@Suite struct ByteSizeTests {
    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (268_435_456, "268.4 MB"), (1_099_511_627_776, "1.1 TB"),
        (9_223_372_036_854_775_807, "9.2 EB"),
    ])
    func sizes(bytes: Int, text: String) {
        #expect(ByteSize.text(bytes) == text)
    }
}
