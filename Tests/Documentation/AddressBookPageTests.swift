import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The commands of the pages about address books. Each runs against the server of its page where that can be had, and else against
/// Radicale. Only addresses, names and paths differ.
@Suite(.timeLimit(.minutes(5)))
struct AddressBookPageTests {
    private static let catalogue = "Sources/AvatarStore/AvatarStore.docc/"

    /// The commands of `page` that begin with one of `names`, of its blocks and its units.
    private static func commands(of page: String, _ names: String...) throws -> [String] {
        let blocks = try Page(catalogue + page + ".md").examples(in: "")
        let text = blocks.map { $0.joined(separator: "\n") }.joined(separator: "\n")
        return text.replacing(/\\\n */, with: "").split(separator: "\n").map { line in
            String(line).replacing(/^ExecStart=\/usr\/local\/bin\//, with: "")
        }
        .filter { line in names.contains { line.hasPrefix($0 + " ") } }
    }

    // MARK: Servers

    /// A page, its commands, and the servers that they run against.
    static let pages: [(page: String, commands: Int, servers: [DAVServerProgram.Kind])] = [
        ("AddressBooks", 3, [.radicale, .xandikos]), ("AddressBooksOfSmallServers", 2, [.radicale, .xandikos]),
        ("AddressBooksOfNextcloud", 2, [.radicale]), ("AddressBooksOfICloud", 3, [.radicale]),
        ("AddressBooksOfFastmail", 2, [.radicale]), ("AddressBooksOfGoogle", 2, [.radicale]),
    ]

    @Test(
        .enabled(
            if: !DAVServerProgram.Kind.installed.isEmpty,
            "needs Radicale or xandikos, which `scripts/test` unpacks"
        ),
        arguments: pages.flatMap { page in page.servers.map { (page.page, page.commands, $0) } }
    )
    func commandsSyncWithAServer(page: String, count: Int, kind: DAVServerProgram.Kind) async throws {
        guard DAVServerProgram.Kind.installed.contains(kind) else { return }
        let commands = try Self.commands(of: page, "avatars")
        #expect(commands.count == count)
        try await DAVServerProgram.with(kind) { server in
            try await server.put("ada", Self.photo)
            try await server.put("ben")
            for command in commands { try await run(command, server) }
        }
    }

    /// Runs `command` in a folder of its own, with the address and the login of `server` in place of its own.
    private func run(_ command: String, _ server: DAVServerProgram) async throws {
        let workplace = try Workplace()
        let login = "\(DAVServerProgram.user):\(DAVServerProgram.password)"
        let token = Data(login.utf8).base64EncodedString()
        try writeSecret("login", DAVServerProgram.password, workplace)
        try writeSecret("header", "127.0.0.1 Authorization: Basic \(token)\n", workplace)
        try writeSecret(
            ".netrc",
            "machine 127.0.0.1 login \(DAVServerProgram.user) password \"\(DAVServerProgram.password)\"\n",
            workplace
        )
        let text = command.replacing(/https?:\/\/[^ ]+/, with: server.url)
            .replacing(/--user [^ ]+/, with: "--user \(DAVServerProgram.user)")
            .replacing(/--password-file [^ ]+/, with: "--password-file login")
            .replacing(/--header-file [^ ]+/, with: "--header-file header")
        try await check(text, ["HOME": workplace.path], workplace)
    }

    private func writeSecret(_ name: String, _ text: String, _ workplace: Workplace) throws {
        try workplace.write(name, text)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path(name))
    }

    /// Runs a `sync` to its end, or a `serve` until its sync is complete: `ada` has an image then.
    private func check(_ command: String, _ environment: [String: String], _ workplace: Workplace) async throws {
        let arguments = command.split(separator: " ").map(String.init).dropFirst()
        if arguments.first == "serve" {
            let program = try await workplace.start(
                arguments + ["--listen", "127.0.0.1:0"],
                environment: environment
            )
            do {
                try await program.says("sync complete", orEnds: true)
            } catch {
                program.signal(SIGKILL)
                throw error
            }
            program.signal(SIGTERM)
            let run = try await program.end()
            #expect(run.status == 143, "\(command): \(run.messages)")
        } else {
            let run = try await workplace.start(Array(arguments), environment: environment).end()
            #expect(run.status == 0, "\(command): \(run.messages)")
        }
        #expect(try await workplace.run("path", "contact:ada").status == 0, "\(command)")
    }

    private static let photo =
        "PHOTO;ENCODING=b;TYPE=PNG:" + Data(SampleImage.png(seed: 1, byteCount: 600)).base64EncodedString()

    // MARK: Folders

    @Test func commandsSyncWithAFolder() async throws {
        let commands = try Self.commands(of: "AddressBooksInFolders", "avatars")
        #expect(commands.count == 2)
        for command in commands {
            let workplace = try Workplace()
            let folder = workplace.path(".contacts")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try workplace.write(".contacts/ada.vcf", DAVServerProgram.card("ada", uid: "ada", [Self.photo]))
            let text = command.replacing("~/.contacts", with: folder).replacing("/home/ada/.contacts", with: folder)
            try await check(text, [:], workplace)
        }
    }

    /// vdirsyncer fills the folder from a server.
    @Test(.enabled(if: VdirsyncerProgram.isInstalled, "needs vdirsyncer, which `scripts/test` unpacks"))
    func syncAfterVdirsyncer() async throws {
        let commands = try Self.commands(of: "AddressBooksInFolders", "vdirsyncer")
        try #require(commands.count == 1)
        try await DAVServerProgram.with(.radicale) { server in
            try await server.put("ada", Self.photo)
            let workplace = try Workplace()
            let vdirsyncer = try await VdirsyncerProgram(of: server.url, in: workplace)
            let script = "avatars() { \"$AVATARS\" \"$@\"; }\n" + commands[0]

            let run = try await workplace.run(tool: "/bin/sh", ["-c", script], environment: vdirsyncer.environment)

            #expect(run.status == 0, "\(run.messages)")
            #expect(try await workplace.run("path", "contact:ada").status == 0, "\(run.text)")
            try await server.delete("ada")
            try await server.put("eve", Self.photo)
            let second = try await workplace.run(tool: "/bin/sh", ["-c", script], environment: vdirsyncer.environment)
            #expect(second.status == 0, "\(second.messages)")
            #expect(try await workplace.run("contacts").text.contains("ada") == false)
            #expect(try await workplace.run("path", "contact:eve").status == 0)
        }
    }

    // MARK: Directories

    /// Of the page's two directories, OpenLDAP can be had. The command of its unit reads the file that the first command wrote.
    @Test(.enabled(if: DirectoryProgram.isInstalled, "needs slapd and ldap-utils, which `scripts/test` unpacks"))
    func commandsSyncWithADirectory() async throws {
        let commands = try Self.commands(of: "AddressBooksOfDirectories", "ldapsearch", "avatars")
        #expect(commands.count == 5)
        let people = [
            ("ada", SampleImage.png(seed: 1, byteCount: 900)), ("ben", SampleImage.png(seed: 2, byteCount: 700)),
        ]
        try await DirectoryProgram.with(people) { directory in
            let workplace = try Workplace()
            try writeSecret("password", DirectoryProgram.password, workplace)
            let unit = try #require(commands.last).replacing("/var/lib/avatars/", with: "")
            let script =
                "set -e\navatars() { \"$AVATARS\" \"$@\"; }\n" + (commands[0...1] + [unit]).joined(separator: "\n")

            let run = try await workplace.run(
                tool: "/bin/sh",
                ["-c", script.replacing("ldaps://ldap.example.org", with: directory.url)],
                environment: directory.environment
            )

            #expect(run.status == 0, "\(run.messages)")
            let contacts = try await workplace.run("contacts", "--json").objects
            #expect(contacts.count == 2)
            #expect(contacts.allSatisfy { $0.text("key")?.hasPrefix("contact:") == true }, "\(contacts)")
        }
    }
}

/// vdirsyncer with a folder of cards that follows a server.
private struct VdirsyncerProgram {
    private static let tools = ProcessInfo.processInfo.environment["AVATARS_DAV"] ?? ""

    /// Whether this machine has it, and a server.
    static let isInstalled =
        FileManager.default.isExecutableFile(atPath: tools + "/bin/vdirsyncer")
        && DAVServerProgram.Kind.installed.contains(.radicale)

    /// The variables by which a shell finds it, and it its configuration.
    let environment: [String: String]

    /// Makes a configuration for the books at `url` in the home folder `workplace`.
    init(of url: String, in workplace: Workplace) async throws {
        environment = [
            "HOME": workplace.path, "PYTHONPATH": Self.tools, "PATH": "\(Self.tools)/bin:/usr/local/bin:/usr/bin:/bin",
            "VDIRSYNCER_CONFIG": workplace.path("vdirsyncer.conf"),
        ]
        try workplace.write(
            "vdirsyncer.conf",
            """
            [general]
            status_path = "\(workplace.path("status"))"
            [pair books]
            a = "folder"
            b = "server"
            collections = ["from b"]
            conflict_resolution = "b wins"
            [storage folder]
            type = "filesystem"
            path = "\(workplace.path(".contacts"))"
            fileext = ".vcf"
            [storage server]
            type = "carddav"
            url = "\(url)"
            username = "\(DAVServerProgram.user)"
            password = "\(DAVServerProgram.password)"
            """
        )
        // It asks before it makes a folder.
        try await workplace.run(
            tool: "/bin/sh",
            ["-c", "yes | vdirsyncer discover"],
            environment: environment
        ).requireSuccess()
    }
}
