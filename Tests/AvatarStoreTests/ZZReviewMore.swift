import AvatarStore
import AvatarStoreTesting
import AvatarFiles
import Foundation
import HTTPTypes
import Synchronization
import Testing

final class HookFS: FileSystem {
    let hook = Mutex<(@Sendable (String) -> Void)?>(nil)
    let real = LocalFileSystem()
    func open(_ path: String, in directory: Int32, flags: Int32, mode: mode_t) throws(SystemCallError) -> Int32 {
        if flags & O_CREAT != 0 { let h = hook.withLock { h in defer { h = nil }; return h }; h?(path) }
        return try real.open(path, in: directory, flags: flags, mode: mode)
    }
    func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, named path: String) throws(SystemCallError) { try real.write(bytes, to: file, named: path) }
    func synchronize(_ file: Int32, named path: String) throws(SystemCallError) { try real.synchronize(file, named: path) }
    func rename(_ s: String, in sd: Int32, to t: String, in td: Int32) throws(SystemCallError) { try real.rename(s, in: sd, to: t, in: td) }
    func unlink(_ path: String, in directory: Int32) throws(SystemCallError) { try real.unlink(path, in: directory) }
    func makeDirectory(_ path: String, in directory: Int32, mode: mode_t) throws(SystemCallError) -> Bool { try real.makeDirectory(path, in: directory, mode: mode) }
}

extension ZZReview {
    private func blocking(_ work: @escaping @Sendable () async throws -> Void) {
        let s = DispatchSemaphore(value: 0)
        Task.detached { do { try await work() } catch { print("ZZ hook error \(error)") }; s.signal() }
        s.wait()
    }

    @Test func u1moveRaces() async throws {
        let fs = HookFS(); let o = StubClient()
        try await StoreFixture.withStore(on: fs, { $0.originClient = o }) { f in
            let other = try await f.openAgain { $0.originClient = o }
            let u = "https://h/a"
            o.image(u, 1, etag: "\"one\""); _ = try await f.store.avatar(for: u)
            let key = try AvatarKey(url: u)
            let old = try f.store.storedAvatar(for: u)!.bytes
            o.image(u, 2, etag: "\"two\"")
            fs.hook.withLock { $0 = { _ in blocking { _ = try await other.avatar(for: u, options: FetchOptions(policy: .reload)) } } }
            _ = try await f.store.move(key, to: .documents)
            let now = try f.store.storedAvatar(for: u)!
            print("ZZ move race: old bytes \(now.bytes == old) etag", try f.store.list().items[0].etag as Any)
            f.clock.advance(by: .seconds(7200))
            let again = try await f.store.avatar(for: u, options: FetchOptions(policy: .revalidate))
            print("ZZ move race after revalidate: old bytes \(again.bytes == old) stale \(again.isStale) source \(again.source)")
            // removal in between
            fs.hook.withLock { $0 = { _ in blocking { print("ZZ removed rows", try await other.remove(key).rows) } } }
            print("ZZ move:", try await f.store.move(key, to: .caches))
            print("ZZ after removal:", try f.store.list().items.map { "\($0.key) \($0.state) \($0.sourceURL ?? "nil") \($0.localFile ?? "")" })
            try await other.close()
        }
    }

    @Test func u2endSyncBusy() async throws {
        let o = StubClient()
        try await StoreFixture.withStore({ $0.originClient = o }) { f in
            o.image("https://h/a", 1, delay: 1)
            let sync = Task { try await f.store.sync(contacts: [Contact(id: "a"), Contact(id: "b", avatarURL: "https://h/a")]) }
            try await Task.sleep(for: .seconds(0.4))
            let p = Process(); p.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            p.arguments = ["python3", "-c", "import sqlite3,time;c=sqlite3.connect('\(f.directory)/index.sqlite',isolation_level=None);c.execute('begin immediate');time.sleep(45)"]
            try p.run()
            do { _ = try await sync.value } catch { print("ZZ endSync: \(error)") }
            p.terminate(); p.waitUntilExit()
            for _ in 0..<2 {
                do { _ = try await f.store.sync(contacts: [Contact(id: "a")]); print("ZZ second sync ok") } catch { print("ZZ second sync: \(error)") }
            }
        }
    }

    @Test func u3replacedIsEvictedFirst() async throws {
        let o = StubClient(); let fs = HookFS()
        try await StoreFixture.withStore(on: fs, { $0.originClient = o }) { f in
            for n in 0..<5 { o.image("https://h/\(n)", UInt64(n)); _ = try await f.store.avatar(for: "https://h/\(n)"); f.clock.advance(by: .seconds(1)) }
            try await f.store.set(.lowWatermark, to: 1 << 40); try await f.store.set(.budget, to: 5000)
            o.image("https://h/0", 99)
            _ = try await f.store.avatar(for: "https://h/0", options: FetchOptions(policy: .reload))
            for n in 0..<5 { print("ZZ replaced \(n):", try f.store.details(for: AvatarKey(url: "https://h/\(n)"))!.overview.lastAccess ?? "gone") }
        }
    }
}
