import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TIFFParserTests {
    /// A field of a directory in a little-endian file.
    private func field(_ tag: UInt16, type: UInt16 = 4, count: UInt32 = 1, _ value: UInt32) -> [UInt8] {
        .littleEndian(tag) + .littleEndian(type) + .littleEndian(count) + .littleEndian(value)
    }

    private func file(_ fields: [[UInt8]], behind rest: [UInt8] = []) -> [UInt8] {
        [0x49, 0x49, 42, 0] + .littleEndian(UInt32(8)) + .littleEndian(UInt16(fields.count))
            + Array(fields.joined()) + .littleEndian(UInt32(0)) + rest
    }

    @Test func manyStripsWithDistantListsCostFewReads() throws {
        let count = 2000
        let fieldsEnd = 8 + 2 + 4 * 12 + 4
        let lists = fieldsEnd + 200_000
        let offsets = Array(repeatElement([UInt8].littleEndian(UInt32(fieldsEnd)), count: count).joined())
        let lengths = Array(repeatElement([UInt8].littleEndian(UInt32(100)), count: count).joined())
        let bytes = file(
            [
                field(256, 7), field(257, UInt32(count)),
                field(273, count: UInt32(count), UInt32(lists)),
                field(279, count: UInt32(count), UInt32(lists + 300_000)),
            ],
            behind: [UInt8](repeating: 0, count: 200_000) + offsets + [UInt8](repeating: 0, count: 300_000 - 4 * count)
                + lengths
        )
        let source = CountingByteSource(bytes)

        let description = try ImageInspector(maximumPixels: .max, allowsSVG: false).inspect(source)

        #expect(description == ImageDescription(format: .tiff, width: 7, height: count))
        #expect(source.bytesRead < 150_000)
        #expect(try refusal(of: bytes.writing(.littleEndian(UInt32.max), at: bytes.count - 4))?.kind == .truncated)
    }

    @Test func sizeAndLocationOfTheImageAreRequired() throws {
        let all = [field(256, 7), field(257, 5), field(273, 8), field(279, 1)]

        #expect(try inspect(file(all)) == ImageDescription(format: .tiff, width: 7, height: 5))
        for missing in all.indices {
            var fields = all
            fields.remove(at: missing)
            #expect(try refusal(of: file(fields))?.kind == .notImage, "without field \(missing)")
        }
    }

    @Test func directoryIncludesTheOffsetOfTheNext() throws {
        let bytes = file([field(256, 7), field(257, 5), field(273, 8), field(279, 1)])

        #expect(try refusal(of: Array(bytes.dropLast()))?.kind == .truncated)
    }

    @Test func listsOfDifferentLengthsAreRefused() throws {
        let fields = [field(256, 7), field(257, 5), field(273, type: 3, count: 2, 8), field(279, 1)]

        #expect(try refusal(of: file(fields))?.kind == .notImage)
    }

    @Test func valuesOfEveryFieldMustBeInTheFile() throws {
        let fields = [field(256, 7), field(257, 5), field(273, 8), field(279, 1)]

        #expect(try refusal(of: file(fields + [field(305, type: 2, count: 5, 1 << 20)]))?.kind == .truncated)
        #expect(try refusal(of: file(fields + [field(305, type: 99, count: .max, .max)])) == nil)
    }

    @Test func hugeOffsetsAndCountsAreTruncated() throws {
        let bytes = try ImageFixture.named("tiff-big.tiff")
        let directory = bytes[8..<16].reversed().reduce(0) { $0 << 8 | Int($1) }
        let huge = [UInt8](repeating: 0xFF, count: 8)

        // The offset of the directory, its number of fields, and the number of values of the first field.
        for offset in [8, directory, directory + 8 + 4] {
            #expect(try refusal(of: bytes.writing(huge, at: offset))?.kind == .truncated, "byte \(offset)")
        }
    }
}
