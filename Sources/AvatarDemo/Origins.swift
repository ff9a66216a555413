import AvatarStoreTesting

/// The servers that the pictures are on: real HTTP, on ports of this machine that nobody else can reach.
struct Origins: Sendable {
    static let count = 4

    private let origins: [LoopbackOrigin]

    /// Starts them all, with the pictures of `people`.
    static func start(serving people: [Person]) async throws -> Origins {
        var started: [LoopbackOrigin] = []
        do {
            for _ in 0..<count { started.append(try await LoopbackOrigin.start()) }
        } catch {
            for origin in started { try await origin.stop() }
            throw error
        }
        let origins = Origins(origins: started)
        people.forEach(origins.serve)
        return origins
    }

    /// Where the contact list says that the person's picture is.
    func url(of person: Person) -> String? {
        person.picture.path(ofPerson: person).map { origin(of: person).url($0) }
    }

    /// The person has another picture from now on, at the same URL.
    func replacePicture(of person: Person) {
        guard let path = person.picture.path(ofPerson: person) else { return }
        origin(of: person).setResponse(Picture.png(for: person.id + "-new", side: 150), for: path)
    }

    /// Refuses connections from now on.
    func stop() async throws {
        for origin in origins { try await origin.stop() }
    }

    // MARK: What they saw

    /// Requests since the counts were reset, whatever came of them.
    var requestCount: Int { origins.reduce(0) { $0 + $1.requestCount } }

    /// Bytes of bodies sent since the counts were reset.
    var bytesSent: Int { origins.reduce(0) { $0 + $1.bytesSent } }

    func resetCounts() {
        origins.forEach { $0.resetCounts() }
    }

    // MARK: How it works

    private func serve(_ person: Person) {
        guard let path = person.picture.path(ofPerson: person) else { return }
        let archive = neighbour(of: person)
        let newPath = "/archive" + path
        let response = person.picture.response(at: path, person, elsewhere: archive.url(newPath))
        origin(of: person).setResponse(response, for: path)
        if person.picture == .moved { archive.setResponse(Picture.png(for: person.id), for: newPath) }
    }

    /// The logos are on the last one, the photos on the others in turn.
    private func origin(of person: Person) -> LoopbackOrigin {
        person.picture == .companyLogo ? origins[Self.count - 1] : origins[person.number % (Self.count - 1)]
    }

    private func neighbour(of person: Person) -> LoopbackOrigin {
        origins[(person.number + 1) % (Self.count - 1)]
    }
}
