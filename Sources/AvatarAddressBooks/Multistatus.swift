import AvatarCore
import AvatarFiles
import CAvatarXML

/// The body of a response, in memory or in a file.
final class DAVBody {
    private var bytes: [UInt8] = []
    private var file: ScratchFile?
    private(set) var count = 0

    private static let mostInMemory = 1 << 20

    /// Appends `chunk`.
    ///
    /// - Throws: an error of the disk.
    func append(_ chunk: [UInt8]) throws {
        count += chunk.count
        bytes += chunk
        guard bytes.count > Self.mostInMemory else { return }
        try flush()
    }

    private func flush() throws {
        let file = try file ?? ScratchFile()
        try file.write(bytes, at: count - bytes.count)
        bytes.removeAll(keepingCapacity: true)
        self.file = file
    }

    /// The end of the body: from here on it is read.
    func finish() throws { if file != nil { try flush() } }

    /// Up to `limit` bytes at `offset`; none at the end.
    ///
    /// - Throws: an error of the disk.
    func read(at offset: Int, limit: Int) throws -> ArraySlice<UInt8> {
        guard let file else { return bytes[min(offset, bytes.count)...].prefix(limit) }
        return try file.read(at: offset, count: min(limit, count - offset))[...]
    }
}

/// A resource in a response about several (RFC 4918 section 14.24), with the properties that this module asks for.
struct DAVResource {
    /// The reference to it as the server spells it.
    var href = ""
    /// Further references: several resources may share one status.
    fileprivate var others: [String] = []
    /// Its own status; `nil` if it has properties instead.
    var status: Int?
    var etag: String?
    var displayName: String?
    var isCollection = false
    var isAddressBook = false
    /// The state of its members (RFC 6578 section 4).
    var syncToken: String?
    /// The state of its members on older servers.
    var collectionTag: String?
    var principals: [String] = []
    var homes: [String] = []
    /// The vCard.
    var card: String?
    /// Whether the server does not know the state that it was asked about (RFC 6578 section 3.2), which xandikos says within a list.
    var refusesToken = false
}

/// Reads a response about several resources, one resource at a time.
struct MultistatusReader: ~Copyable {
    /// The document is no such response, or is cut short.
    struct Malformed: Error {}

    private let input: Input
    private let reader: OpaquePointer
    private var path: [String] = []
    private var text = ""
    private var keepsText = false
    private var hasRoot = false
    /// The state after all changes of a response to `sync-collection`.
    private(set) var syncToken: String?
    /// Further resources of the response that was read last.
    private var more: [DAVResource] = []

    private static let deepest = 32

    /// The bytes for libxml2.
    private final class Input {
        let body: DAVBody
        var offset = 0
        var failure: (any Error)?

        init(_ body: DAVBody) { self.body = body }

        func fill(_ buffer: UnsafeMutableBufferPointer<CChar>) -> Int32 {
            do {
                let bytes = try body.read(at: offset, limit: buffer.count)
                offset += bytes.count
                UnsafeMutableRawBufferPointer(buffer).copyBytes(from: bytes)
                return Int32(bytes.count)
            } catch {
                failure = error
                return -1
            }
        }
    }

    /// - Throws: `invalidConfiguration` if this system has no libxml2.
    init(_ body: DAVBody) throws {
        input = Input(body)
        let context = Unmanaged.passUnretained(input).toOpaque()
        let made = avatar_xml_new(
            { context, buffer, count in
                guard let context, let buffer, count > 0 else { return -1 }
                return Unmanaged<Input>.fromOpaque(context).takeUnretainedValue()
                    .fill(UnsafeMutableBufferPointer(start: buffer, count: Int(count)))
            },
            context
        )
        guard let made else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "Address books need libxml2, which this system does not have. Install it (Debian: libxml2)."
            )
        }
        reader = made
    }

    deinit { avatar_xml_free(reader) }

    /// The next resource; `nil` at the end.
    ///
    /// - Throws: `Malformed`; an error of the disk.
    mutating func next() throws -> DAVResource? {
        if let next = more.popLast() { return next }
        var resource = DAVResource()
        var properties = DAVResource()
        while true {
            switch Int(avatar_xml_next(reader)) {
            case AVATAR_XML_START:
                path.append(Self.name(reader))
                guard path.count <= Self.deepest, path[0] == "multistatus" else { throw Malformed() }
                hasRoot = true
                text = ""
                keepsText = true
                begin(&properties)
                if path.count == 2, path[1] == "response" { resource = DAVResource() }
                if path.count == 3, path[2] == "propstat" { properties = DAVResource() }
            case AVATAR_XML_TEXT:
                if keepsText { text += avatar_xml_text(reader).map { String(cString: $0) } ?? "" }
            case AVATAR_XML_CLOSE:
                let isResponse = path.count == 2 && path[1] == "response"
                end(&resource, &properties)
                guard path.popLast() != nil else { throw Malformed() }
                (text, keepsText) = ("", false)
                guard isResponse else { continue }
                more = resource.others.map { href in
                    var other = resource
                    (other.href, other.others) = (href, [])
                    return other
                }
                return resource
            case AVATAR_XML_END:
                guard hasRoot, path.isEmpty else { throw Malformed() }
                return nil
            default:
                throw input.failure ?? Malformed()
            }
        }
    }

    /// The local name of an element of the namespaces in question.
    private static func name(_ reader: OpaquePointer) -> String {
        let space = avatar_xml_namespace(reader).map { String(cString: $0) }
        let name = avatar_xml_name(reader).map { String(cString: $0) } ?? ""
        switch space {
        case "DAV:", "urn:ietf:params:xml:ns:carddav", "http://calendarserver.org/ns/": return name
        default: return "?"
        }
    }

    private func begin(_ properties: inout DAVResource) {
        guard path.count == 6, path[2] == "propstat", path[4] == "resourcetype" else { return }
        if path[5] == "collection" { properties.isCollection = true }
        if path[5] == "addressbook" { properties.isAddressBook = true }
    }

    /// Takes the element that ends.
    private mutating func end(_ resource: inout DAVResource, _ properties: inout DAVResource) {
        if path.count == 2, path[1] == "sync-token" { syncToken = text.withoutWhiteSpace }
        guard path.count >= 3, path[1] == "response" else { return }
        switch (path.count, path[2]) {
        case (3, "href"):
            let href = text.withoutWhiteSpace
            if resource.href.isEmpty { resource.href = href } else { resource.others.append(href) }
        case (3, "status"): resource.status = Self.status(text)
        case (4, "error") where path[3] == "valid-sync-token": resource.refusesToken = true
        case (4, "propstat") where path[3] == "status": properties.status = Self.status(text)
        case (3, "propstat"):
            if (200..<300).contains(properties.status ?? 200) { resource.take(properties) }
        case (5, "propstat"):
            switch path[4] {
            case "getetag": properties.etag = text.withoutWhiteSpace
            case "displayname": properties.displayName = text.withoutWhiteSpace
            case "sync-token": properties.syncToken = text.withoutWhiteSpace
            case "getctag": properties.collectionTag = text.withoutWhiteSpace
            case "address-data": properties.card = text
            default: break
            }
        case (6, "propstat") where path[5] == "href":
            if path[4] == "current-user-principal" { properties.principals.append(text.withoutWhiteSpace) }
            if path[4] == "addressbook-home-set" { properties.homes.append(text.withoutWhiteSpace) }
        default: break
        }
    }

    /// The status in "HTTP/1.1 404 Not Found"; 500 for another text.
    private static func status(_ line: String) -> Int {
        line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 500
    }
}

extension DAVResource {
    /// Adds properties with a good status.
    fileprivate mutating func take(_ found: DAVResource) {
        etag = found.etag ?? etag
        displayName = found.displayName ?? displayName
        isCollection = isCollection || found.isCollection
        isAddressBook = isAddressBook || found.isAddressBook
        syncToken = found.syncToken ?? syncToken
        collectionTag = found.collectionTag ?? collectionTag
        principals += found.principals
        homes += found.homes
        card = found.card ?? card
    }
}
