import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `sync --user :`, which logs in with the Kerberos ticket of the session.
@Suite(
    .enabled(if: KerberosRealm.isInstalled, "needs krb5-kdc, which `scripts/test` unpacks"),
    .timeLimit(.minutes(5))
)
struct TicketCommandTests {
    @Test func ticketOfTheSessionIsTheLogin() async throws {
        try await BookServer.with { server in
            server.put("ada")
            server.put("ben")
            try await KerberosRealm.with(forwardingTo: server.port) { realm in
                let workplace = try Workplace()
                let run = try await workplace.run(
                    "sync",
                    realm.url,
                    "--user",
                    ":",
                    "--json",
                    environment: realm.session
                )
                #expect(run.status == 0, "\(run.messages)")
                #expect(try run.object.number("contacts") == 2)
                let seen = try realm.requests().filter { $0 != "ready" }
                // Nothing is delegated, and no request with a ticket is refused.
                #expect(seen.contains { $0.hasPrefix("ada@TEST.EXAMPLE REPORT ") })
                #expect(seen.allSatisfy { $0.hasPrefix("ada@TEST.EXAMPLE ") || $0.hasPrefix("nobody ") }, "\(seen)")
                #expect(seen.first?.hasPrefix("nobody PROPFIND") == true)

                let second = try await workplace.run(
                    "sync",
                    realm.url,
                    "--user",
                    ":",
                    "--json",
                    environment: realm.session
                )
                #expect(try second.object.objects("sources")?.first?["requests"] as? Int == 2)
            }
        }
    }

    @Test func missingTicketIsSaid() async throws {
        try await BookServer.with { server in
            server.put("ada")
            try await KerberosRealm.with(forwardingTo: server.port) { realm in
                let workplace = try Workplace()
                let run = try await workplace.run("sync", realm.url, "--user", ":", environment: realm.emptySession)
                #expect(run.status == 2)
                #expect(
                    run.messages.contains("refuses the Kerberos ticket, or the session has none"),
                    "\(run.messages)"
                )
                // A password does not take the ticket's place, nor the ticket that of a password.
                try workplace.write("password", "secret\n")
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600],
                    ofItemAtPath: workplace.path("password")
                )
                let other = try await workplace.run(
                    "sync",
                    realm.url,
                    "--user",
                    "ada",
                    "--password-file",
                    "password",
                    environment: realm.session
                )
                #expect(other.status == 2)
                #expect(other.messages.contains("refuses the user or the password"))
                #expect(try realm.requests().allSatisfy { $0 == "ready" || $0.hasPrefix("nobody ") })
            }
        }
    }
}

/// `sync --user :` with servers that take no ticket.
@Suite(.timeLimit(.minutes(5)))
struct TicketOptionTests {
    @Test func serverWithoutNegotiateGetsNoTicket() async throws {
        try await BookServer.with { server in
            server.faults.login = ("ada", "secret")
            let workplace = try Workplace()
            let run = try await workplace.run("sync", server.url(), "--user", ":")
            #expect(run.status == 2)
            #expect(run.messages.contains("does not offer Negotiate") || run.messages.contains("no GSS-API"))
            #expect(try await workplace.run("sync", server.url(), "--user", ":", "--password-file", "x").status == 64)
        }
    }
}
