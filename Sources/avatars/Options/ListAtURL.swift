import ArgumentParser
import AvatarContacts
import AvatarProviders
import AvatarStore
import AvatarFoundation
import HTTPTypes

/// A contact list at a URL. It is copied to a temporary file before it is read, so that a list that breaks off stops the sync.
struct ListAtURL: Sendable {
    /// The URL as given.
    private let url: String
    /// The name in messages and in the index: without the query, which may hold a token. Two lists that differ in it have two names.
    let name: String

    /// The maximum size of a list: 1 GiB.
    private static let maximumBytes = 1 << 30

    /// Whether `path` is a URL, and not the path of a file.
    static func isURL(_ path: String) -> Bool {
        let scheme = path.prefix { $0 != ":" }.lowercased()
        return ["http", "https"].contains(scheme) && path.dropFirst(scheme.count).hasPrefix("://")
    }

    /// The list at `url`.
    ///
    /// - Throws: `ValidationError` if it is not a valid URL, or has a user or a password.
    init(_ url: String) throws {
        let key: AvatarKey
        do {
            key = try AvatarKey(url: url)
        } catch {
            throw ValidationError(
                "The URL \"\(AvatarKey.withoutSecrets(url))\" of a list must have no user or password. Give tokens "
                    + "with --header-file."
            )
        }
        self.url = key.rawValue
        let query = key.rawValue.split(separator: "?", maxSplits: 1).dropFirst().first
        name = "\(key)" + (query.map { " (\(Self.mark(of: String($0))))" } ?? "")
    }

    /// Eight digits that tell queries apart.
    private static func mark(of query: String) -> String {
        let hash = query.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(String(hash, radix: 16).suffix(8))
    }

    /// The answer of the server.
    enum Fetched {
        /// The list, with its validators if it has any.
        case list(ContactList, ListValidators?)
        /// The list is as the store has it.
        case unchanged
    }

    /// Fetches the list with the network options of `configuration`. Its host may be private, because the operator has named it, and
    /// no redirect is followed.
    ///
    /// - Parameters:
    ///   - format: the format; `nil` to tell it from the path of the URL.
    ///   - known: the validators of the list as the store has it; `nil` to fetch it in any case.
    /// - Throws: `AvatarStoreError`: `fetchFailed` if there is no answer, `unreadableList` if the answer is no list,
    ///   `invalidConfiguration` if this program has no HTTP client; `CancellationError`.
    func fetch(
        _ configuration: AvatarStore.Configuration,
        format: ContactList.Format?,
        unless known: ListValidators?
    ) async throws -> Fetched {
        #if HTTPOrigin
        var http = configuration.http
        http.allowsPrivateNetworks = true
        http.maximumRedirects = 0
        let client = try HTTPOrigin(configuration: http)
        let copy = try ReceivedList(name: name)
        do {
            var fields: HTTPFields = [.accept: "*/*"]
            fields[.ifNoneMatch] = known?.etag
            fields[.ifModifiedSince] = known?.lastModified
            let head = try await client.send(OriginRequest(url: url, fields: fields)) { response in
                if known != nil, response.head.status == 304 { return response.head }
                try require(response.head)
                var size = 0
                while let chunk = try await response.body.next() {
                    size += chunk.count
                    guard size <= Self.maximumBytes else {
                        throw unreadable("is larger than 1 GiB, the limit of a list")
                    }
                    try copy.append(chunk)
                }
                return response.head
            }
            try await client.shutdown()
            guard let format = format ?? ContactList.Format(path: path) else { throw unreadable("needs --format") }
            guard head.status != 304 else { return .unchanged }
            let validators = ListValidators(etag: head.fields[.eTag], lastModified: head.fields[.lastModified])
            return .list(try copy.list(format), validators)
        } catch let error as OriginError {
            try await client.shutdown()
            switch error.kind {
            case .tooManyRedirects: throw unreadable("redirects to another URL; name that one")
            case .unreachable, .timeout, .offline:
                throw AvatarStoreError(.fetchFailed, error.message, failure: error.kind)
            default: throw AvatarStoreError(.unreadableList, error.message)
            }
        }
        #else
        throw AvatarStoreError(.invalidConfiguration, "This program has no HTTP client for \(name).")
        #endif
    }

    /// Refuses a response that is no list.
    private func require(_ head: OriginHead) throws {
        guard head.status != 200 else { return }
        if head.status >= 500 || head.status == 429 {
            throw AvatarStoreError(
                .fetchFailed,
                "\(name) responds with status \(head.status). Try again later.",
                failure: FailureKind(status: head.status)
            )
        }
        let advice = [401, 403].contains(head.status) ? "; give its token with --header-file" : ""
        throw unreadable("responds with status \(head.status)\(advice)")
    }

    private func unreadable(_ problem: String) -> AvatarStoreError {
        AvatarStoreError(.unreadableList, "\(name) \(problem).")
    }

    /// The path of the URL, whose extension may tell the format.
    private var path: String { String(url.prefix { $0 != "?" }) }
}

extension AvatarKey {
    /// `url` without user, password, query and fragment.
    static func withoutSecrets(_ url: String) -> String {
        var text = url.prefix { $0 != "?" && $0 != "#" }
        if let start = text.firstRange(of: "://")?.upperBound,
            let end = text[start...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
        {
            text = text[..<start] + text[text.index(after: end)...]
        }
        return String(text)
    }
}
