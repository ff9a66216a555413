import AvatarCore
import AvatarOriginRules

/// The address policy in a form that callbacks of libcurl can reach by a pointer.
final class AddressJudge {
    private let policy: AddressPolicy
    private let ofNamedServer: AddressPolicy

    init(_ policy: AddressPolicy) {
        (self.policy, ofNamedServer) = (policy, policy.ofNamedServer)
    }

    /// Whether a connection to the address of `count` bytes is allowed. `context` points to a judge.
    ///
    /// - Parameter isNamed: whether the connection is for a request to a server that the operator has named.
    static func allows(
        _ context: UnsafeMutableRawPointer?,
        _ bytes: UnsafePointer<UInt8>?,
        count: CInt,
        isNamed: Bool
    ) -> Bool {
        guard let context, let bytes,
            let address = IPAddress(bytes: UnsafeBufferPointer(start: bytes, count: Int(count)))
        else { return false }
        let judge = Unmanaged<AddressJudge>.fromOpaque(context).takeUnretainedValue()
        return (isNamed ? judge.ofNamedServer : judge.policy).allows(address)
    }
}
