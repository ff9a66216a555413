#if canImport(FoundationEssentials)
@_spi(_Unicode) import Swift
#else
import Foundation
#endif

extension StringProtocol {
    /// The text in Unicode's composed form (NFC).
    package var composed: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return String(self) }
        #if canImport(FoundationEssentials)
        // The normalisation of the standard library, which compares strings by it. There is no public name for it.
        var scalars = String.UnicodeScalarView()
        for scalar in String(self)._nfc { scalars.append(scalar) }
        return String(scalars)
        #else
        return precomposedStringWithCanonicalMapping
        #endif
    }
}
