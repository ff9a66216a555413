import AsyncHTTPClient
import Foundation
import NIOCore

/// An address book on a CardDAV server (RFC 6352), read through its changes (RFC 6578).
struct AddressBook: Sendable {
    let client: HTTPClient
    /// The URL of the address book.
    let url: String
    let user: String
    let password: String

    /// The changes since an earlier state of the address book.
    struct Changes: Sendable {
        /// Paths of new and changed cards.
        var changed: [String] = []
        /// Paths of deleted cards.
        var removed: [String] = []
        /// The sync token for the state after these changes.
        var token: String
    }

    enum Failure: Error {
        /// The server has forgotten the sync token: start without one.
        case tokenIsInvalid
        case status(Int)
        case noToken
    }

    /// The changes since `token`; without one, all cards.
    func changes(since token: String?) async throws -> Changes {
        var changes = Changes(token: token ?? "")
        var isTruncated = true
        // A server may split its response.
        while isTruncated {
            let answer = try await report(
                """
                <sync-collection xmlns="DAV:"><sync-token>\(changes.token.escapedForXML)</sync-token>\
                <sync-level>1</sync-level><prop><getetag/></prop></sync-collection>
                """
            )
            guard let token = answer.syncToken else { throw Failure.noToken }
            // A 507 for the address book itself marks a truncated response (RFC 6578 section 3.6).
            isTruncated = answer.responses.contains { $0.status == 507 } && token != changes.token
            changes.token = token
            changes.removed += answer.responses.filter { $0.status == 404 }.map(\.path)
            changes.changed += answer.responses.filter { $0.status == 200 && !$0.path.hasSuffix("/") }.map(\.path)
        }
        return changes
    }

    /// The cards at `paths` that still exist.
    func cards(at paths: ArraySlice<String>) async throws -> [(path: String, card: String)] {
        let answer = try await report(
            """
            <c:addressbook-multiget xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav">\
            <prop><c:address-data/></prop>\
            \(paths.map { "<href>\($0.escapedForXML)</href>" }.joined())</c:addressbook-multiget>
            """
        )
        return answer.responses.compactMap { response in response.card.map { (response.path, $0) } }
    }

    private func report(_ body: String) async throws -> Multistatus {
        var request = HTTPClientRequest(url: url)
        request.method = .init(rawValue: "REPORT")
        request.setBasicAuth(username: user, password: password)
        request.headers.add(name: "Content-Type", value: "application/xml; charset=utf-8")
        request.headers.add(name: "Depth", value: "0")
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await client.execute(request, timeout: .seconds(60))
        let data = Data(buffer: try await response.body.collect(upTo: 256 << 20))
        guard response.status.code == 207 else {
            let isAboutToken = String(decoding: data, as: UTF8.self).contains("valid-sync-token")
            throw isAboutToken ? Failure.tokenIsInvalid : Failure.status(Int(response.status.code))
        }
        return try Multistatus(data)
    }
}

extension String {
    fileprivate var escapedForXML: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }
}
