#if NIOOrigin
import AvatarOriginRules
import NIOCore
import NIOHTTP1

/// Repairs response heads over HTTP/1 before NIO parses them, because NIO would refuse them or lose bytes.
///
/// It removes blanks between a field's name and the colon, percent-encodes bytes beyond ASCII in `Location`, and
/// reports a head with too many fields as `TooManyFields`. More interim responses than the limit are no HTTP.
final class ResponseHeadRepair: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The response head has more fields than NIO's parser accepts.
    struct TooManyFields: Error {}

    /// The place of the parser in the head of the current response.
    private var head = Head()

    /// Notes that a request is sent, so that the next bytes are the head of its response.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head = unwrapOutboundIn(data) { head.beginResponse() }
        context.write(data, promise: promise)
    }

    /// Passes bytes on, those of a head repaired.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !head.isComplete else { return context.fireChannelRead(data) }
        var input = unwrapInboundIn(data)
        if input.withUnsafeReadableBytes({ head.passes(whole: $0) }) { return context.fireChannelRead(data) }
        var output: [UInt8] = []
        output.reserveCapacity(input.readableBytes)
        let taken = input.withUnsafeReadableBytes { head.take($0, into: &output) }
        guard head.fieldCount <= ResponseHeadLimits.maximumFieldCount else {
            return context.fireErrorCaught(TooManyFields())
        }
        guard head.interimCount <= ResponseHeadLimits.maximumInterimCount else {
            return context.fireErrorCaught(HTTPParserError.unknown)
        }
        input.moveReaderIndex(forwardBy: taken)
        context.fireChannelRead(wrapInboundOut(context.channel.allocator.buffer(bytes: output)))
        if input.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(input)) }
    }
}

/// The state of the parser within a response head.
private struct Head {
    /// The part of the head that the next byte belongs to; `end` for the body.
    private enum Place {
        case statusLine, name, value, end
    }

    /// The part of the head that the next byte belongs to.
    private var place = Place.end
    /// The number of bytes of the status line so far.
    private var column = 0
    /// Whether this is a 1xx response, which another head follows.
    private var isInformational = false
    /// The number of fields so far.
    private(set) var fieldCount = 0
    /// The number of 1xx responses so far.
    private(set) var interimCount = 0
    /// The start of the current field's name in lower case, one byte longer than `location` at most.
    private var name: [UInt8] = []
    /// Blanks after a name, held back until the next byte.
    private var blanks: [UInt8] = []

    /// Whether the head is complete, so that only the body follows.
    var isComplete: Bool { place == .end }

    /// Prepares for the response to the next request.
    mutating func beginResponse() {
        begin()
        interimCount = 0
    }

    /// Prepares for the next head: of a response, or of an interim one before it.
    private mutating func begin() {
        place = .statusLine
        column = 0
        fieldCount = 0
        isInformational = false
    }

    /// Whether `bytes` begin with a whole head that needs no repair, as nearly all do. If so, the head is complete.
    mutating func passes(whole bytes: UnsafeRawBufferPointer) -> Bool {
        guard place == .statusLine, column == 0, bytes.count > 9, bytes[9] != UInt8(ascii: "1") else { return false }
        var (lineStart, lineCount, last) = (0, 0, UInt8(0))
        for (index, byte) in bytes.enumerated() {
            let isAfterBlank = last == UInt8(ascii: " ") || last == UInt8(ascii: "\t")
            if byte >= 0x80 || byte == UInt8(ascii: ":") && isAfterBlank { return false }
            if byte == Self.lineFeed {
                lineCount += 1
                if index - lineStart <= 1, lineCount > 1 {
                    guard lineCount - 2 <= ResponseHeadLimits.maximumFieldCount else { return false }
                    fieldCount = lineCount - 2
                    place = .end
                    return true
                }
                lineStart = index + 1
            }
            last = byte
        }
        return false
    }

    /// Reads the bytes of the head, and appends them repaired to `output`.
    ///
    /// - Returns: the number of `bytes` that belong to the head.
    mutating func take(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8]) -> Int {
        for (index, byte) in bytes.enumerated() {
            guard !isComplete else { return index }
            take(byte, into: &output)
        }
        return bytes.count
    }

    /// Appends one byte to `output`, repaired.
    private mutating func take(_ byte: UInt8, into output: inout [UInt8]) {
        switch place {
        case .name:
            return takeName(byte, into: &output)
        case .statusLine:
            // "HTTP/1.1 1"
            if column == 9 { isInformational = byte == UInt8(ascii: "1") }
            column += 1
        case .value where byte >= 0x80 && name.elementsEqual("location".utf8):
            let digits = Array("0123456789ABCDEF".utf8)
            output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            return
        case .value, .end:
            break
        }
        output.append(byte)
        if byte == Self.lineFeed { beginLine() }
    }

    /// Prepares for the next line of the head.
    private mutating func beginLine() {
        place = .name
        name.removeAll(keepingCapacity: true)
        blanks.removeAll(keepingCapacity: true)
    }

    /// Appends one byte of a field name to `output`. Blanks before the colon are left out (RFC 9112 section 5.1).
    private mutating func takeName(_ byte: UInt8, into output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"):
            return blanks.append(byte)
        case UInt8(ascii: ":") where !name.isEmpty:
            fieldCount += 1
            place = .value
        case Self.lineFeed where name.isEmpty && blanks.isEmpty:
            // The empty line after the fields.
            if isInformational {
                interimCount += 1
                begin()
            } else {
                place = .end
            }
        case Self.lineFeed:
            output += blanks
            beginLine()
        default:
            output += blanks
            blanks.removeAll(keepingCapacity: true)
            if byte != UInt8(ascii: "\r"), name.count <= "location".utf8.count { name.append(byte | 0x20) }
        }
        output.append(byte)
    }

    private static let lineFeed = UInt8(ascii: "\n")
}
#endif
