import AvatarCore
import AvatarOriginRules

/// The address policy in a form that callbacks of libcurl can reach by a pointer.
final class AddressJudge {
    private let policy: AddressPolicy

    init(_ policy: AddressPolicy) {
        self.policy = policy
    }

    /// Whether a connection to the address of `count` bytes is allowed. `context` points to a judge.
    static func allows(_ context: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<UInt8>?, count: CInt) -> Bool {
        guard let context, let bytes,
            let address = IPAddress(bytes: UnsafeBufferPointer(start: bytes, count: Int(count)))
        else { return false }
        return Unmanaged<AddressJudge>.fromOpaque(context).takeUnretainedValue().policy.allows(address)
    }
}
