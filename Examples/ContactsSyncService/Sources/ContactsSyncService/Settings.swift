/// The settings of the service, read from environment variables.
struct Settings {
    /// `CARDDAV_URL`: the URL of the address book. Required.
    let book: String
    /// `CARDDAV_USER`. Required.
    let user: String
    /// `CARDDAV_PASSWORD`. Required.
    let password: String
    /// `STORE`: the store's directory, an absolute path. Required.
    let directory: String
    /// `PORT`: the port to listen on; 0 picks a free one. Default: 8080.
    let port: Int
    /// `EVERY`: seconds from one round to the next. Default: 900.
    let pause: Duration
    /// `ALLOW_PRIVATE_NETWORK=1`: allows pictures from private addresses, for a trial on one machine. Default: no.
    let allowsPrivateNetworks: Bool

    struct Missing: Error, CustomStringConvertible {
        let name: String
        var description: String {
            "The environment variable \(name) is missing or empty. Set it and start the service again."
        }
    }

    init(_ environment: [String: String]) throws(Missing) {
        func value(_ name: String) throws(Missing) -> String {
            guard let value = environment[name], !value.isEmpty else { throw Missing(name: name) }
            return value
        }
        book = try value("CARDDAV_URL")
        user = try value("CARDDAV_USER")
        password = try value("CARDDAV_PASSWORD")
        directory = try value("STORE")
        port = environment["PORT"].flatMap { Int($0) } ?? 8080
        pause = .seconds(environment["EVERY"].flatMap { Double($0) } ?? 900)
        allowsPrivateNetworks = environment["ALLOW_PRIVATE_NETWORK"] == "1"
    }
}
