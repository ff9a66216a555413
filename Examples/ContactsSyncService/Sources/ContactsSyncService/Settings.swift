/// How the service is run, from its environment.
struct Settings {
    /// `CARDDAV_URL`: the address book.
    let book: String
    /// `CARDDAV_USER`
    let user: String
    /// `CARDDAV_PASSWORD`
    let password: String
    /// `STORE`: an absolute path, the folder for everything.
    let directory: String
    /// `PORT`; 0 is one that is free. Default: 8080.
    let port: Int
    /// `EVERY`: seconds from one round to the next. Default: 900.
    let pause: Duration
    /// `ALLOW_PRIVATE_NETWORK=1`: pictures may come from private addresses too, for trying this out.
    let allowsPrivateNetworks: Bool

    struct Missing: Error, CustomStringConvertible {
        let name: String
        var description: String { "The environment variable \(name) is missing." }
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
