import AvatarStoreTesting
import Foundation

/// A directory of OpenLDAP on loopback, with people in `ou=people,dc=example,dc=org` and the reader `uid=avatars,dc=example,dc=org`.
package struct DirectoryProgram: Sendable {
    /// The folder in which `scripts/test` has unpacked the server; empty if the system has it.
    private static let tools = ProcessInfo.processInfo.environment["AVATARS_LDAP"] ?? ""

    /// Whether this machine has the server and its client.
    package static let isInstalled = [server, client].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }

    private static let server = tools + "/usr/sbin/slapd"
    private static let client = tools + "/usr/bin/ldapsearch"

    /// The password of the reader.
    package static let password = "a secret & more"

    /// A person: the value of `uid`, and the bytes of the photo.
    package typealias Person = (name: String, photo: [UInt8])

    /// The root of its URLs, without a slash at the end.
    package let url: String
    /// The variables by which a shell finds `ldapsearch`.
    package let environment: [String: String]

    /// Runs `body` with a directory of `people`.
    package static func with(_ people: [Person], _ body: (DirectoryProgram) async throws -> Void) async throws {
        let workplace = try Workplace()
        let url = "ldap://127.0.0.1:\(try Socket.freePorts(1))"
        try FileManager.default.createDirectory(atPath: workplace.path("data"), withIntermediateDirectories: true)
        let configuration = try workplace.write("slapd.conf", configuration(data: workplace.path("data")))
        let entries = try workplace.write("entries.ldif", ([base] + people.map(entry)).joined(separator: "\n"))
        var environment = ["PATH": "\(tools)/usr/bin:/usr/bin:/bin"]
        if !tools.isEmpty { environment["LD_LIBRARY_PATH"] = libraries.joined(separator: ":") }
        // `slapadd` is another name of the server.
        let load = ["-T", "add", "-f", configuration, "-l", entries]
        try await workplace.run(tool: server, load, environment: environment).requireSuccess()
        let program = try await workplace.start(
            tool: server,
            ["-d", "0", "-h", url, "-f", configuration],
            environment: environment
        )
        do {
            try await waitUntil(every: .milliseconds(50)) {
                guard !program.hasEnded else { throw UnexpectedOutput(text: "", messages: try program.messages) }
                return try await workplace.run(
                    tool: client,
                    ["-x", "-H", url, "-b", "", "-s", "base"],
                    environment: environment
                )
                .status == 0
            }
            try await body(DirectoryProgram(url: url, environment: environment))
        } catch {
            try await end(program)
            throw error
        }
        try await end(program)
    }

    private static func end(_ program: RunningProgram) async throws {
        program.signal(SIGTERM)
        _ = try await program.end()
    }

    private static var libraries: [String] {
        let folders = [
            "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
        ]
        return (folders + ["usr/lib/ldap"]).map { "\(tools)/\($0)" }
    }

    private static func configuration(data: String) -> String {
        """
        include \(tools)/etc/ldap/schema/core.schema
        include \(tools)/etc/ldap/schema/cosine.schema
        include \(tools)/etc/ldap/schema/inetorgperson.schema
        modulepath \(tools)/usr/lib/ldap
        moduleload back_mdb
        database mdb
        suffix dc=example,dc=org
        directory \(data)
        access to attrs=userPassword by anonymous auth by * none
        access to * by dn.base="uid=avatars,dc=example,dc=org" read

        """
    }

    private static let base = """
        dn: dc=example,dc=org
        objectClass: domain
        dc: example

        dn: uid=avatars,dc=example,dc=org
        objectClass: account
        objectClass: simpleSecurityObject
        uid: avatars
        userPassword: \(password)

        dn: ou=people,dc=example,dc=org
        objectClass: organizationalUnit
        ou: people

        """

    private static func entry(of person: Person) -> String {
        """
        dn: uid=\(person.name),ou=people,dc=example,dc=org
        objectClass: inetOrgPerson
        uid: \(person.name)
        cn: \(person.name)
        sn: \(person.name)
        mail: \(person.name)@example.org
        jpegPhoto:: \(Data(person.photo).base64EncodedString())

        """
    }
}
