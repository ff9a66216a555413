import AvatarCore
import AvatarFiles
import AvatarFoundation

/// The object that tells one answer of an origin to other machines: validators, times and the header fields that freshness
/// depends on. It is JSON.
///
/// It names the URL by its SHA-256 only, and a reader checks it: a record that was copied under another key gives no contact
/// the face of another.
package struct TierRecord: Codable, Equatable, Sendable {
    /// The format of this program's records.
    static let currentFormat = 1
    /// The maximum size of a record in bytes.
    package static let largestSize = 65_536

    /// The format. A reader passes over a record of a later one.
    var format = Self.currentFormat
    /// The SHA-256 of the URL.
    var url: String
    /// The SHA-256 of the bytes.
    var digest: String
    /// The length of the bytes.
    var size: Int
    /// When the request was sent, in milliseconds since 1970.
    var requested: Int64
    /// When its response arrived.
    var responded: Int64
    /// When an origin last sent the bytes.
    var fetched: Int64
    /// The ETag field.
    var etag: String?
    /// The Last-Modified field.
    var lastModified: String?
    /// The form of `ResponseMetadata.encodedFields`, with a redirect's lifetime but not its URL.
    var fields: String?

    /// The record of a stored image that `entry` describes; `nil` without an image or a response.
    init?(of entry: AvatarEntry, _ url: TierURL) {
        let validation = entry.validation
        guard let file = entry.file, let sha256 = entry.sha256, let response = validation.response,
            let fetched = validation.fetched
        else { return nil }
        self.url = url.text
        digest = Hexadecimal.text(sha256)
        size = file.sizeBytes
        let (negative, overflow) = Int64(0).subtractingReportingOverflow(validation.responseDelayMilliseconds)
        requested = response.adding(milliseconds: overflow ? 0 : negative).milliseconds
        responded = response.milliseconds
        self.fetched = fetched.milliseconds
        let lines = (validation.responseFields ?? "").split(separator: "\n").map(Self.withoutRedirectURL)
        fields = lines.isEmpty ? nil : lines.joined(separator: "\n")
        // After redirects the validators are those of another URL, which only this machine knows.
        guard ResponseMetadata(stored: validation).redirection == nil else { return }
        etag = validation.etag
        lastModified = validation.lastModified
    }

    /// The line of a redirect is `@SECONDS URL`; the URL may have a secret in it.
    private static func withoutRedirectURL(_ line: Substring) -> String {
        guard line.hasPrefix("@"), let space = line.firstIndex(of: " ") else { return String(line) }
        return String(line[...space])
    }

    /// The response of the origin, as if this machine had received it.
    ///
    /// - Parameters:
    ///   - requestURL: the URL of the record, which stands in for that of a redirect.
    ///   - now: a time of another machine's clock is at most this one.
    func metadata(of requestURL: String, now: Timestamp) -> ResponseMetadata {
        let lines = (fields ?? "").split(separator: "\n").map { line in
            line.hasPrefix("@") && line.hasSuffix(" ") ? line + requestURL : line
        }
        return ResponseMetadata(
            etag: etag,
            lastModified: lastModified,
            encodedFields: lines.joined(separator: "\n"),
            requestTime: min(Timestamp(milliseconds: requested), now),
            responseTime: min(Timestamp(milliseconds: responded), now)
        )
    }

    /// The bytes of the object.
    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self))
    }

    /// Reads the record of `url` with the generation of its key.
    ///
    /// - Returns: `nil` if the bytes are no record of this format, or one of another URL, digest or time.
    package init?(_ bytes: [UInt8], of url: TierURL, _ generation: TierGeneration) {
        let record: TierRecord
        do {
            record = try JSONDecoder().decode(TierRecord.self, from: Data(bytes))
        } catch {
            // The object of another program, or a part of a record.
            return nil
        }
        guard record.format == Self.currentFormat, record.url == url.text,
            record.digest == generation.digest.map({ Hexadecimal.text($0) }),
            record.responded == generation.time.milliseconds, record.requested <= record.responded, record.size > 0
        else { return nil }
        self = record
    }
}

extension TierURL {
    /// The URL of the image of `target`.
    init(_ target: FetchTarget) { self.init(target.requestURL) }

    /// `url`, whole and normalised.
    init(_ url: String) { self.init(sha256: ContentDigest.sha256(Array(url.utf8))) }
}

extension TierGeneration {
    /// The answer that `entry` has from its origin; `nil` if it has none that other machines may use.
    init?(of entry: AvatarEntry) {
        let validation = entry.validation
        if let sha256 = entry.sha256, entry.file != nil, validation.failure == nil, let response = validation.response {
            self.init(time: response, freshUntil: validation.freshUntil ?? response, content: .image(sha256))
        } else if entry.file == nil, validation.failure == .gone, let checked = validation.checked {
            let day = checked.adding(seconds: 86_400)
            self.init(time: checked, freshUntil: validation.nextCheck ?? day, content: .gone)
        } else {
            return nil
        }
    }
}
