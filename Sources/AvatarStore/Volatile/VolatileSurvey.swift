import AvatarCore
import AvatarReports

/// The URLs of a whole list without their volatile parameters (`VolatileQuery`): which of them stand for several images.
///
/// Two contacts whose URLs differ in volatile parameters alone may be two persons, if one of the parameters tells them apart
/// after all. Only the whole list shows that, so it is surveyed before the first record is used. The survey takes 36 bytes per
/// URL with volatile parameters, and nothing for others.
struct VolatileSurvey: Sendable {
    /// The volatile parameters; without any, the survey notes nothing.
    let queries: VolatileQueries
    /// Keys without volatile parameters.
    private var keys = FingerprintSet()
    /// These keys, each with a URL of which it is left.
    private var urls = FingerprintSet()
    /// These keys, each with a contact that has it.
    private var contacts = FingerprintSet()
    /// The keys that several contacts, or several images of one contact, have by different URLs.
    private var clashing = FingerprintSet()

    init(_ queries: VolatileQueries) {
        self.queries = queries
    }

    /// Notes the URLs of `contact`.
    mutating func add(_ contact: Contact) {
        guard !queries.isEmpty else { return }
        var own: [AvatarKey: AvatarKey] = [:]
        for url in contact.images.lazy.compactMap(\.url).compactMap(AvatarKey.init(listed:)) {
            guard let query = queries.query(for: url) else { continue }
            let key = url.without(query)
            // A contact does not name one image twice: the parameters tell its images apart.
            if let other = own.updateValue(url, forKey: key), other != url { _ = clashing.insert(key.rawValue) }
            // Another record of the same contact replaces this one, so it has no say.
            let isOther = contacts.insert(Self.pair(key, contact.id))
            let isNew = keys.insert(key.rawValue)
            if urls.insert(Self.pair(key, url.rawValue)), !isNew, isOther { _ = clashing.insert(key.rawValue) }
        }
    }

    /// Whether images of the list have `key` by different URLs.
    func isClashing(_ key: AvatarKey) -> Bool { clashing.contains(key.rawValue) }

    /// Whether the list gives `key` to `contact`.
    func names(_ key: AvatarKey, of contact: String) -> Bool { contacts.contains(Self.pair(key, contact)) }

    static func pair(_ key: AvatarKey, _ other: String) -> String { "\(key.rawValue)\0\(other)" }
}
