import AvatarCore

extension FreshnessPolicy {
    /// To the letter.
    static var strict: FreshnessPolicy {
        var policy = FreshnessPolicy()
        policy.mode = .strict
        return policy
    }
}
