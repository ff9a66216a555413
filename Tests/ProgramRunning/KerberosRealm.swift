import AvatarStoreTesting
import Foundation

/// A realm of Kerberos with a server of MIT on loopback, the user `ada`, and a service that lets in users with a ticket only and forwards
/// their requests.
package struct KerberosRealm: Sendable {
    /// The folder in which `scripts/test` has unpacked the server.
    private static let tools = ProcessInfo.processInfo.environment["AVATARS_KDC"] ?? ""

    /// Whether this machine has the server.
    package static let isInstalled = FileManager.default.isExecutableFile(atPath: tools + "/usr/sbin/krb5kdc")

    /// The root of the URLs of the service.
    package let url: String
    /// The environment of a session of `ada`, whose ticket is made from a keytab.
    package let session: [String: String]
    /// The environment of a session without a ticket.
    package let emptySession: [String: String]
    private let service: RunningProgram

    /// The users and requests that the service has seen.
    package func requests() throws -> [String] { try service.lines }

    /// Runs `body` with a realm whose service forwards to `port`.
    package static func with(forwardingTo port: Int, _ body: (KerberosRealm) async throws -> Void) async throws {
        let workplace = try Workplace()
        let (kdcPort, servicePort) = (try Socket.freePorts(1), try Socket.freePorts(1))
        try workplace.write("krb5.conf", clientConfiguration(kdcPort))
        try workplace.write("kdc.conf", serverConfiguration(kdcPort, workplace))
        var environment = [
            "KRB5_CONFIG": workplace.path("krb5.conf"), "KRB5_KDC_PROFILE": workplace.path("kdc.conf"),
            "LD_LIBRARY_PATH": libraries,
        ]
        let administer = "\(tools)/usr/sbin/kadmin.local"
        for (tool, arguments) in [
            ("\(tools)/usr/sbin/kdb5_util", ["-r", realm, "create", "-s", "-P", "secret"]),
            (administer, ["-q", "addprinc -randkey ada"]), (administer, ["-q", "addprinc -randkey HTTP/localhost"]),
            (administer, ["-q", "ktadd -k \(workplace.path("service.keytab")) HTTP/localhost"]),
            (administer, ["-q", "ktadd -k \(workplace.path("ada.keytab")) ada"]),
        ] {
            try await workplace.run(tool: tool, arguments, environment: environment).requireSuccess()
        }
        let kdc = try await workplace.start(tool: "\(tools)/usr/sbin/krb5kdc", ["-n"], environment: environment)
        environment["LD_LIBRARY_PATH"] = nil
        environment["KRB5_KTNAME"] = workplace.path("service.keytab")
        try workplace.write("service.py", script)
        let service = try await workplace.start(
            tool: "/usr/bin/env",
            ["python3", workplace.path("service.py"), "\(servicePort)", "\(port)"],
            environment: environment
        )
        let empty = ["KRB5_CONFIG": workplace.path("krb5.conf"), "KRB5CCNAME": "MEMORY:"]
        let realm = KerberosRealm(
            url: "http://localhost:\(servicePort)/",
            session: empty.merging(["KRB5_CLIENT_KTNAME": workplace.path("ada.keytab")]) { $1 },
            emptySession: empty.merging(["KRB5_CLIENT_KTNAME": workplace.path("none")]) { $1 },
            service: service
        )
        do {
            try await waitUntil { try realm.requests().contains("ready") }
            try await body(realm)
        } catch {
            try await end(kdc, service)
            throw error
        }
        try await end(kdc, service)
    }

    private static func end(_ programs: RunningProgram...) async throws {
        for program in programs {
            program.signal(SIGTERM)
            _ = try await program.end()
        }
    }

    private static let realm = "TEST.EXAMPLE"

    /// The folders of the unpacked libraries.
    private static var libraries: String {
        let folders = ["usr/lib", "lib"].flatMap { folder in
            // A folder that is not there has none.
            let found = try? FileManager.default.contentsOfDirectory(atPath: "\(tools)/\(folder)")
            return (found ?? []).filter { $0.hasSuffix("-linux-gnu") }.map { "\(tools)/\(folder)/\($0)" }
        }
        return folders.joined(separator: ":")
    }

    private static func clientConfiguration(_ port: UInt16) -> String {
        """
        [libdefaults]
        default_realm = \(realm)
        dns_lookup_kdc = false
        dns_lookup_realm = false
        dns_canonicalize_hostname = false
        rdns = false
        [realms]
        \(realm) = {
          kdc = 127.0.0.1:\(port)
        }
        [domain_realm]
        localhost = \(realm)
        """
    }

    private static func serverConfiguration(_ port: UInt16, _ workplace: Workplace) -> String {
        let modules = libraries.split(separator: ":").map { "\($0)/krb5/plugins/kdb" }
            .first { FileManager.default.fileExists(atPath: $0) }
        return """
            [kdcdefaults]
            kdc_listen = 127.0.0.1:\(port)
            kdc_tcp_listen = 127.0.0.1:\(port)
            [realms]
            \(realm) = {
              database_name = \(workplace.path("principal"))
              key_stash_file = \(workplace.path("stash"))
              acl_file = \(workplace.path("acl"))
            }
            [dbmodules]
            db_module_dir = \(modules ?? "")
            """
    }

    /// The service. It verifies tickets by GSS-API, through the library of the system.
    private static let script = #"""
        import base64, ctypes, http.client, http.server, sys

        gss = ctypes.CDLL("libgssapi_krb5.so.2")


        class Buffer(ctypes.Structure):
            _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]


        def accept(token):
            minor, context, name = ctypes.c_uint32(), ctypes.c_void_p(), ctypes.c_void_p()
            flags, lifetime, delegated = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_void_p()
            given = ctypes.create_string_buffer(token, len(token))
            source, answer = Buffer(len(token), ctypes.cast(given, ctypes.c_void_p)), Buffer(0, None)
            if gss.gss_accept_sec_context(
                ctypes.byref(minor), ctypes.byref(context), None, ctypes.byref(source), None, ctypes.byref(name), None,
                ctypes.byref(answer), ctypes.byref(flags), ctypes.byref(lifetime), ctypes.byref(delegated),
            ):
                return None
            shown = Buffer(0, None)
            gss.gss_display_name(ctypes.byref(minor), name, ctypes.byref(shown), None)
            user = ctypes.string_at(shown.value, shown.length).decode()
            return user + (" with delegation" if delegated else ""), ctypes.string_at(answer.value, answer.length)


        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                field = self.headers.get("Authorization") or ""
                found = accept(base64.b64decode(field[10:])) if field.startswith("Negotiate ") else None
                print(found[0] if found else "nobody", self.command, self.path, flush=True)
                if not found:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", "Negotiate")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                target = http.client.HTTPConnection("127.0.0.1", int(sys.argv[2]))
                fields = {name: value for name, value in self.headers.items() if name in ("Depth", "Content-Type")}
                target.request(self.command, self.path, body, fields)
                response = target.getresponse()
                content = response.read()
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() in ("etag", "location", "content-type"):
                        self.send_header(name, value)
                self.send_header("WWW-Authenticate", "Negotiate " + base64.b64encode(found[1]).decode())
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PROPFIND = do_REPORT = answer

            def log_message(self, *arguments):
                pass


        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
        print("ready", flush=True)
        server.serve_forever()
        """#
}
