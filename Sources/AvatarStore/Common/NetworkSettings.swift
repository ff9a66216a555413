import AvatarCore
import AvatarIndex
import AvatarReports

/// A setting of a store whose value is a text. No text is its default.
package struct TextSetting: Hashable, Sendable {
    /// The name, as the index and the command line spell it.
    package let name: String

    private init(_ name: String) {
        self.name = name
    }

    /// The User-Agent field of requests.
    package static let userAgent = TextSetting("user-agent")
    /// The absolute path of a PEM file of certificates to trust in addition to the system's.
    package static let trustRootsFile = TextSetting("ca-file")

    /// The volatile parameters of URLs, a line for each host (`VolatileQuery`).
    package static let volatileQuery = TextSetting("volatile-query")
    /// The name under which the index has the hosts that `AvatarIndex.clashingHosts()` returns. It is no setting.
    static let clashingHosts = "volatile-query-clashes"

    /// All text settings, in the order in which the command line lists them.
    package static let all: [TextSetting] = [userAgent, trustRootsFile, volatileQuery]
}

/// The network options that a store keeps for programs without a configuration of their own, such as `avatars`.
package struct NetworkSettings: Sendable {
    /// The most requests at once; `nil` for the default.
    package var connections: Int?
    /// The most requests at once to one host; `nil` to find out what a host bears.
    package var connectionsPerHost: Int?
    /// Whether requests may go to private addresses; `nil` for the default.
    package var allowsPrivateNetworks: Bool?
    /// The User-Agent field; `nil` for the default.
    package var userAgent: String?
    /// The path of a file of certificates; `nil` for none.
    package var trustRootsFile: String?

    /// No option is kept.
    package init() {}

    init(in index: AvatarIndex) throws {
        connections = try index.setting(Setting.connections.name).map(Int.init)
        connectionsPerHost = try index.setting(Setting.connectionsPerHost.name).flatMap { $0 > 0 ? Int($0) : nil }
        allowsPrivateNetworks = try index.setting(Setting.allowsPrivateNetworks.name).map { $0 != 0 }
        userAgent = try index.textSetting(TextSetting.userAgent.name)
        trustRootsFile = try index.textSetting(TextSetting.trustRootsFile.name)
    }
}

extension StoreConfiguration {
    /// The configuration after `adoptSettings` has seen the settings of the store.
    ///
    /// - Throws: `invalidConfiguration` if a setting cannot be used; an error of the index.
    func adopted(from index: AvatarIndex) throws -> Self {
        guard let adoptSettings else { return self }
        var adopted = self
        try adoptSettings(&adopted, NetworkSettings(in: index))
        try adopted.validate()
        return adopted
    }
}
