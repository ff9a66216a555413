package import AvatarCore

/// An image without its metadata: a view of its file that leaves out everything but the image.
///
/// The pixels are those of the file, bit for bit. The orientation stays, as a block of EXIF that says nothing else, and
/// so does the colour profile. Bytes hidden inside the coded pixels, or inside the profile, stay too.
///
/// The view keeps the places of its pieces in memory, at most 16,384 of them, and reads the bytes from the file.
package struct StrippedImage<Source: ByteSource>: ByteSource {
    /// A piece, and the offset at which it starts in this view.
    private struct Piece {
        let start: Int64
        let part: ImageParts.Part
    }

    /// The length in bytes.
    package let byteCount: Int
    private let source: Source
    private let pieces: [Piece]

    /// The view of the image in `source`.
    ///
    /// - Parameter format: its format, from which metadata must be removable (`ImageFormat.canLoseMetadata`).
    /// - Throws: `ImageRejection` for a file that is not a complete image of this format, and for one in more pieces than
    ///   the view can have; any error that `source` throws.
    package init(of source: Source, as format: ImageFormat) throws {
        guard let type = format.partsParser else {
            throw ImageRejection(kind: .notImage, message: "Metadata cannot be taken out of an image of this format.")
        }
        var reader = ByteReader(source)
        reader.format = format
        let parts = try Self.parts(of: type.init(reader))
        guard !parts.isTooLong else {
            throw reader.notImage("it has more than \(ImageParts.maximumParts) pieces of metadata")
        }
        var start: Int64 = 0
        pieces = parts.list.map { part in
            defer { start += part.byteCount }
            return Piece(start: start, part: part)
        }
        byteCount = Int(parts.byteCount)
        self.source = source
    }

    /// The parts that `parser` finds in its file.
    private static func parts(of parser: some ImagePartsParser) throws -> ImageParts {
        var parser = parser
        parser.parts = .recording
        _ = try parser.pixelSize()
        return parser.parts
    }

    /// Reads `count` bytes from `offset` on, and returns fewer only at the end.
    ///
    /// - Throws: the error of a read of the source.
    package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        guard offset < byteCount, count > 0 else { return [] }
        let end = Int64(min(count, byteCount - offset) + offset)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(end) - offset)
        var place = Int64(offset)
        for piece in pieces[indexOfPiece(at: place)...] {
            guard place < end else { break }
            let from = place - piece.start
            let to = min(piece.part.byteCount, end - piece.start)
            switch piece.part {
            case .bytes(let own): bytes += own[Int(from)..<Int(to)]
            case .source(let range):
                let read = try source.bytes(at: Int(range.lowerBound + from), count: Int(to - from))
                bytes += read
                // The file is shorter than it was: a reader compares the length.
                guard read.count == Int(to - from) else { return bytes }
            }
            place = piece.start + to
        }
        return bytes
    }

    /// The index of the piece with the byte at `offset`.
    private func indexOfPiece(at offset: Int64) -> Int {
        var (low, high) = (0, pieces.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if pieces[middle].start <= offset { low = middle } else { high = middle }
        }
        return low
    }
}

extension StrippedImage: Sendable where Source: Sendable {}

extension ImageFormat {
    /// Whether metadata can be taken out of an image of this format without decoding it: JPEG, PNG, GIF and WebP.
    package var canLoseMetadata: Bool { partsParser != nil }

    /// The parser that finds the parts of an image; `nil` for a format from which metadata cannot be taken.
    fileprivate var partsParser: (any ImagePartsParser.Type)? { traits?.parser as? any ImagePartsParser.Type }
}
