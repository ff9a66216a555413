/// International host names in ASCII, by Unicode IDNA Compatibility Processing (UTS #46, nontransitional, Unicode 16).
///
/// Keys contain the result, and no later version may compute another one for a name. So the tables belong to the store, and no
/// library of the system does the work, whose next version may decide otherwise. `IDNATests` compares all code points with Foundation.
enum IDNA {
    /// The host `name` in ASCII and lower case; `nil` if IDNA does not allow it.
    ///
    /// The lengths of labels and their characters of ASCII are not checked.
    static func ascii(_ name: String) -> [UInt8]? {
        guard let mapped = mapped(name) else { return nil }
        let labels = mapped.composed.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
        var (texts, encoded): ([[Unicode.Scalar]], [[UInt8]]) = ([], [])
        for label in labels.map(Array.init) {
            guard let (text, bytes) = decodedAndEncoded(label), isValid(text) else { return nil }
            texts.append(text)
            encoded.append(bytes)
        }
        let isBidirectional = texts.contains { $0.contains { IDNACharacter($0).isRightToLeft } }
        guard !isBidirectional || texts.allSatisfy(obeysBidiRule) else { return nil }
        return Array(encoded.joined(separator: [UInt8(ascii: ".")]))
    }

    /// The text with each character as IDNA maps it; `nil` if it contains one that is not allowed.
    private static func mapped(_ name: String) -> String? {
        var output = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            if scalar.isASCII {
                output.append(Unicode.Scalar(URLNormalization.lowercased(UInt8(scalar.value))))
            } else if let target = IDNATable.mapping[scalar] {
                output.append(contentsOf: target)
            } else {
                let character = IDNACharacter(scalar)
                guard character.isAllowed else { return nil }
                if !character.isIgnored { output.append(scalar) }
            }
        }
        return String(output)
    }

    /// The label in Unicode and in ASCII; `nil` if it begins with `xn--` and is not the encoding of a mapped text.
    private static func decodedAndEncoded(_ label: [Unicode.Scalar]) -> (text: [Unicode.Scalar], bytes: [UInt8])? {
        if label.starts(with: "xn--".unicodeScalars) {
            guard let bytes = label.asciiBytes, let text = Punycode.decode(bytes.dropFirst(4)),
                !text.allSatisfy(\.isASCII), isMapped(text)
            else { return nil }
            return (text, bytes)
        }
        if let bytes = label.asciiBytes { return (label, bytes) }
        return Punycode.encode(label).map { (label, Array("xn--".utf8) + $0) }
    }

    /// Whether mapping and composing change nothing.
    private static func isMapped(_ text: [Unicode.Scalar]) -> Bool {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: text)
        return mapped(String(view))?.composed.unicodeScalars.elementsEqual(text) ?? false
    }

    /// Whether the label has no hyphen at its ends and none in the third and fourth place, begins with no mark, and its joiners
    /// stand where scripts need them (RFC 5892, appendix A).
    private static func isValid(_ label: [Unicode.Scalar]) -> Bool {
        guard let first = label.first else { return true }
        let hasHyphens = label.dropFirst(2).starts(with: "--".unicodeScalars)
        guard first != "-", label.last != "-", !hasHyphens else { return false }
        guard !IDNACharacter(first).isMark else { return false }
        return label.indices.allSatisfy { place in
            let isNonJoiner = label[place] == "\u{200C}"
            guard isNonJoiner || label[place] == "\u{200D}" else { return true }
            guard place > 0 else { return false }
            if label[place - 1].properties.canonicalCombiningClass.rawValue == 9 { return true }
            return isNonJoiner && separatesJoiningLetters(label, at: place)
        }
    }

    /// Whether the letters on both sides of `place` would join.
    private static func separatesJoiningLetters(_ label: [Unicode.Scalar], at place: Int) -> Bool {
        let joining = label.map { IDNACharacter($0).joining }
        let before = joining[..<place].last { $0 != .transparent }
        let after = joining[(place + 1)...].first { $0 != .transparent }
        return (before == .left || before == .dual) && (after == .right || after == .dual)
    }

    /// Whether the label obeys the Bidi rule (RFC 5893 section 2).
    private static func obeysBidiRule(_ label: [Unicode.Scalar]) -> Bool {
        let directions = label.map { IDNACharacter($0).direction }
        guard let first = directions.first, let last = directions.last(where: { $0 != .mark })
        else { return label.isEmpty }
        switch first {
        case .left:
            return (last == .left || last == .number)
                && !directions.contains { $0 == .right || $0 == .arabicNumber }
        case .right:
            return [.right, .number, .arabicNumber].contains(last) && !directions.contains(.left)
                && !(directions.contains(.number) && directions.contains(.arabicNumber))
        default: return false
        }
    }
}

/// Facts that IDNA needs of a character that stays as it is.
private struct IDNACharacter {
    /// Its class of the Bidi algorithm (UAX #9), as far as the Bidi rule tells them apart.
    enum Direction: Int {
        case left, right, arabicNumber, number, mark, other
    }

    /// Its joining type.
    enum Joining: Int {
        case none
        case dual = 2
        case left, right, transparent
    }

    let isAllowed: Bool
    var isIgnored = false
    var isMark = false
    var direction = Direction.other
    var joining = Joining.none

    var isRightToLeft: Bool { direction == .right || direction == .arabicNumber }

    init(_ scalar: Unicode.Scalar) {
        guard !scalar.isASCII else {
            isAllowed = true
            let byte = UInt8(truncatingIfNeeded: scalar.value)
            if URLNormalization.isDigit(byte) { direction = .number }
            if URLNormalization.isLetter(byte) { direction = .left }
            return
        }
        let number = IDNATable.classes[scalar]
        isAllowed = number > 0
        isIgnored = number == 1
        guard number > 1, number - 2 < IDNATable.kinds.count else { return }
        (direction, joining, isMark) = IDNATable.kinds[number - 2]
    }
}

extension [Unicode.Scalar] {
    /// The characters as ASCII; `nil` if there are others.
    fileprivate var asciiBytes: [UInt8]? {
        allSatisfy(\.isASCII) ? map { UInt8(truncatingIfNeeded: $0.value) } : nil
    }
}

/// Unicode in the letters, digits and hyphens of a label (RFC 3492).
private enum Punycode {
    private static let (base, least, most, skew, damp) = (36, 1, 26, 38, 700)
    private static let (firstBias, firstCode) = (72, 0x80)

    /// The encoding of `text`; `nil` if it is too long for any label.
    static func encode(_ text: [Unicode.Scalar]) -> [UInt8]? {
        // A longer one has no place in a host name, and the time grows with the square.
        guard text.count <= 64 else { return nil }
        var output = text.filter(\.isASCII).map { UInt8(truncatingIfNeeded: $0.value) }
        let basic = output.count
        var (code, delta, bias, handled) = (firstCode, 0, firstBias, basic)
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        while handled < text.count {
            let next = text.reduce(0x110000) { $1.value >= code ? min($0, Int($1.value)) : $0 }
            delta += (next - code) * (handled + 1)
            code = next
            for scalar in text {
                if scalar.value < code { delta += 1 }
                guard scalar.value == code else { continue }
                output += digits(of: delta, bias: bias)
                bias = adapted(delta, isFirst: handled == basic, count: handled + 1)
                (delta, handled) = (0, handled + 1)
            }
            (delta, code) = (delta + 1, code + 1)
        }
        return output
    }

    /// The text that `bytes` encode; `nil` if they encode none.
    static func decode(_ bytes: ArraySlice<UInt8>) -> [Unicode.Scalar]? {
        guard bytes.count <= 64 else { return nil }
        let mark = bytes.lastIndex(of: UInt8(ascii: "-")) ?? bytes.startIndex
        var output = bytes[..<mark].map { Unicode.Scalar($0) }
        let basic = output.count
        var rest = basic > 0 ? bytes[mark...].dropFirst() : bytes
        var (code, place, bias) = (firstCode, 0, firstBias)
        while !rest.isEmpty {
            guard let delta = number(in: &rest, bias: bias) else { return nil }
            let count = output.count + 1
            bias = adapted(delta, isFirst: output.count == basic, count: count)
            code += (place + delta) / count
            place = (place + delta) % count
            guard code <= 0x10FFFF, let scalar = Unicode.Scalar(UInt32(code)) else { return nil }
            output.insert(scalar, at: place)
            place += 1
        }
        return output
    }

    /// The threshold of the digit at `position`, which counts by `base`.
    private static func threshold(_ position: Int, _ bias: Int) -> Int { min(max(position - bias, least), most) }

    private static func digits(of delta: Int, bias: Int) -> [UInt8] {
        var (digits, rest, position): ([UInt8], Int, Int) = ([], delta, base)
        while rest >= threshold(position, bias) {
            let least = threshold(position, bias)
            digits.append(digit(least + (rest - least) % (base - least)))
            rest = (rest - least) / (base - least)
            position += base
        }
        return digits + [digit(rest)]
    }

    /// Takes a number from the beginning of `bytes`; `nil` if they begin with no digit.
    private static func number(in bytes: inout ArraySlice<UInt8>, bias: Int) -> Int? {
        var (number, weight, position) = (0, 1, base)
        while let byte = bytes.popFirst() {
            guard let digit = value(of: byte), number + digit * weight <= Int(Int32.max) else { return nil }
            number += digit * weight
            let least = threshold(position, bias)
            if digit < least { return number }
            guard weight * (base - least) <= Int(Int32.max) else { return nil }
            weight *= base - least
            position += base
        }
        return nil
    }

    private static func adapted(_ delta: Int, isFirst: Bool, count: Int) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var position = 0
        while delta > (base - least) * most / 2 {
            delta /= base - least
            position += base
        }
        return position + (base - least + 1) * delta / (delta + skew)
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? Int(UInt8(ascii: "a")) + value : Int(UInt8(ascii: "0")) + value - 26)
    }

    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte - UInt8(ascii: "a"))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0")) + 26
        default: nil
        }
    }
}

/// The characters of host names: IdnaMappingTable.txt, DerivedBidiClass.txt and DerivedJoiningType.txt of Unicode 16, packed.
///
/// Stored keys depend on these tables. A later Unicode may add characters that are disallowed here, and change nothing else.
private enum IDNATable {
    /// The characters that become others.
    static let mapping = ScalarMapping(packed: packedMapping)
    /// 0 for a character that is not allowed, 1 for one that is ignored, others less 2 for a place in `kinds`.
    static let classes = ScalarClasses(packed: packedClasses)

    /// Direction, joining type, and whether the character is a mark.
    static let kinds: [(IDNACharacter.Direction, IDNACharacter.Joining, Bool)] = [
        (.left, .none, false), (.other, .none, false), (.mark, .transparent, true), (.right, .none, false),
        (.left, .none, true), (.right, .dual, false), (.left, .dual, false), (.right, .right, false),
        (.arabicNumber, .none, false), (.number, .none, false), (.left, .transparent, true), (.right, .left, false),
        (.other, .dual, false), (.left, .left, false), (.right, .transparent, false),
    ]

    private static let packedMapping: StaticString = #"""
        Q000WO74X?Q^@100TA44XMQ^8201WO04Y7Q^2000Q`>24Y?Q`>000X?000TE15XE`Q6`PO05XG`Q6`Q305XE`Q2`PO10FR0106R0Q11G214\=Q
        YL14\A204\C20112212214]5TF04]7TF013214g6QTK01F2100WA0122100`G100]40112100\L0002101\J0002200TN000\D000\F0002100
        \J000\N100]6000]20002300]6000]:100]<0122100]D0002100]D2002100]D0002101]B0112100]F0002300274eOaD04f1aD04f3aD04e
        E304eG304eI304eG704eI704eK70172218224hIQ<04hKQ<04hMQ<0002100V1000S?01C2100X31182700eRF0002100Z5000eR@2002100\5
        000T:000T>0142S100QT?000TE000QT?000QT1000SE000SC000S9000QSO000QSMO4Q[?Q^<04Q[AQ^>04Q[CQ^D04Q[EQ`@04Q[GQ^604Q[I
        Q^F200WI000QW9000QVM000QVE000TMRK01SO100RO04SG=000W8Q:112100[E100234QeCQiB300Qd5000W844Qf7Q^205Qf9Q^@=000R<000
        Q\O002R:100T0101SN10@R0108R0Q300@000QK000QA000I000;000A000M000Q;11;2100S;000RO000RM100SG000SO1002100S;0002202X
        300?U000OR0Q@1@291J2100N016221Q?220Q5S0Q@4R3QJW=4TKTJ04RKRH04U0U504RKRDfO4T5R>04T5R<04T5R:04SMR004SEQF04SEQD04
        S5Q204ROJSL4SEQF04SEQD14ROJRC41D2448Q24T5R<04T5R:04SMR024S5Q2WM4SEQF04SEQDfE4QDQESO4QDQEQ84S1Q304S3CQ>001QF41W
        :941VF441V<441V2441UH<4RAW:9432147604SHS305SFT1N04SFS505SDT3N74ONA41R:941QF441Q<441Q2441H<4RAR:W60Q5^V0100^V05
        00^V0Q>00QOgK05?RT200\TK000\TI000\T7001\T3000\T5000\SG000\R7000RTl6000260Q:UkO202UkOS<00^\E000^T=011^\G000^\G0
        00]e9007^\G100^\I000]aC000^\K000^\I001^\G000^\E000^^3001]_7000T7000^^9001^^7000]_1001]^O000^^;100^^7000^^5000^
        P;000^^5000]_M001SK000^^;001^^5000SG000]^E000^^9000S=002\jE001\iC000^_A000^_1001^^M001\k7000\j=001\j5=00\cEQ20
        0]dA000^cA000]d?000^ZK000]d5000^cC000]d3000]d1000]cK002]cG000RG000]`E000]cG000R9000]`G000]cE000]cI003]cG000]cC
        001]c1000^PC001]bI000YG001]bK000^d1002]bG000]P=R01R:254_SAQUJ000SC200^kM11Q?2907?805?:07?807?805?;13?807?100]l
        9100]l;100]l=100]l?100]jI100]jK100]jM24WO]d=04WO]d?04WO]dA04WO]dC04WO]dE04WO]dG04WO]dI04WO]dK04X?]d=04X?]d?04X
        ?]dA04X?]dC04X?]dE04X?]dG04X?]dI04X?]dK04VO]f=04VO]f?04VO]fA04VO]fC04VO]fE04VO]fG04VO]fI04VO]fK04W?]f=04W?]f?0
        4W?]fA04W?]fC04W?]fE04W?]fG04W?]fI04W?]fK04SO]j=04SO]j?04SO]jA04SO]jC04SO]jE04SO]jG04SO]jI04SO]jK04T?]j=04T?]j
        ?04T?]jA04T?]jC04T?]jE04T?]jG04T?]jI04T?]jK24T3]k=04^P3@04^P?J241]oI001?000TC000^PM04^PE@04_iIQ_6000^P904_iMQ_
        604_iOQb405_j1Q^@SD04TK]kE04^PG404^Q;F241^PI000U;000^QG000U;000^QI04^Q9405_jIQ_6Q505_jKQ_6Q305_jMQ_6RN300^T540
        1?000V7000^RG15_kIQ_8Q705_kKQ_8Q505_kMQ_8RL300^S5401?000VO000^QK000=05_lIQ^@?05_lKQ^@=000_hM24W;]l504^RCO04^R;
        Q9241^SI000WO000^RI000WK000^RI04^S5O04_mIQ^204_mKQ_8100_mO000_n1000_n3000_n5000_n7000_n9000_n;000_n=000_n?000_
        nA000_nC600154_o=Qa6G00`PM34100530014100530044`QE014`QKQ^:84`P?004`PAQK04`R?QL=6R9000700`SM@00`SO000`P?205`SO0
        00`TM000i>000`SM001`U9000`Q1009`TO000`UM000h>000`TM001`V9100`RM000`RG000`R5000`QE000_SE000`RI003`RE000`RC001`R
        ?;4`S;2RG5`YMS3S805`YOS3T8000`YM04`U5TI15`Z3S7T005`Z5S7T<000_ZG14`UATC001`Z5000`Z7000`Z9000`Z;000_n?000`Z=000`
        Z?000`Z;011`Z=04`Z?2202`ZA000`ZC000`ZE24`ZI;05`ZIM>04`ZK=100`ZC100^eI100`ZK100`[M000`T;001`\C100`\C001`\E000QH
        000`\;000`\9003]f9000`\O15`]99Q>000^gG000^hC000^hE000^gM000]2400`^1001`^3001`]M65`aM`Q6`PI05`aO`Q6`PE06`b1`Q6`
        Q5105`b3`Q6`Q105`b3`Q4`Q105`b7`Q6`PM05`b7`Q4`PM05`b7`Q2`PM05`b7`Q0`PM05`b?`Q6`PK05`b9`PN`PK05`bC`Q6`PG05`bA`Q2
        `PG05`b?`PN`PG05`b=`PJ`PG04`bK`Q6000`_=04`_?005`_A0004`_CJ000`^K04`^MI05`^OI006`_1I0004`_MN000`_104`_3M05`_5M0
        000`_O001``C000``3000``=04``?005``A0004``CJ000`_K04`_MI05`_OI006``1I0004``MN000``104``3M05``5M0000``O001`aC000
        `a3300255`eA`Q8`Q1U241005300141005300WH01V]NYE08bRM04bS?104bSA004bSC204bSE404bSG604bSI804bSK:04bSM<04bSO>04bT1
        @04bT1305bTGB?05bTIDA05bTKFC05bTMHE05bTOJG05bU1LI05bU3NK05bU5Q0M05bU7Q2O06bU9B1=06bU;B0?06bU=B2A06bU?B4C06bUAB
        6E06bUCB8G06bUEB:I06bUGB<K06bUIB>M06bUKB@O06bUMD3=D5bW7SBS?05bW9SDSA05bW;SFSC05bW=SHSE05bW?SJSG05bWASLSI05bWCS
        NSK05bWET0SM05bWGT2SO05bWIT4T105bWKT6T305bWMT8T505bWOT:T705bX1T<T905bX3T>T;05bX5T@T=05bX7TBT?05bX9TDTA05bX;TFT
        C05bX=THTE05bX?TJTG05bXATLTI05bXCTNTK05bXEU0TM05bXGU2TO05bXIU4U100IbU900IbVM000b[CQY16Sn1000S75eSC0604eS?005eS
        A00S542cj9Y30Q?S0Q@002100do=000W^;000dn=2122100eQG000doI000eQM000eQK10022002600fQ3000fP=001eSM01QA281124002SL0
        0KY?00nbLRC00QhZH<00_`0000_b>000_c8000_cH000_e:000_h0000_h<000_iB000_k4000aS<000aUF000aV0000aW<000aXB000aYJ000
        a]2000a^:000a^N000ahB000an<000bP2000bP:000bR4000bRD000bT8000bU0000bV@000bYF000bZH000b\<000ckB000dP0000dlF000dn
        2000dn@000do4000eP6000eTL000fRD000fUB000f]0000f^<000f_@000f`J000fd4000fd8000gZJ000g[<000g\2000g\J000gd0000gd>0
        00gdF000gkN000gl@000gm8000gmF000hQ>000hR>000hS@000hX>000i\F000i_@000i`H000jnN000jo6000kT:000kU8000kV0000kW8000
        kYD000kYL000kj@000kkN000kmL000mm:000nQ<000nRH000nV:000nWH000nX8000nXD000n[J000n\2000n^0000QPa<000QQ]8000QQ]N00
        0QQ^6000QQ^<000QQ^J000QQ_L000QQ_N000QQdN000QRR<000QRRD000QRgH000QRh:000QRk<000QRkH000QRl8000QRlF000QSR:000QSRF
        000QS`L000QSa8000QSd8000QSe8000QSh4000QTVL000QTW8000QTX8000QTlD000QUT>000QUTH000QU`2000QUe>000QUh8000QV_J000QV
        h2000QWkL000QWm@000QXQ0000QXT4000QXX:000QXXN000QXY8000QX[8000QX_N000QX`@000QYV2000QYV>000QYVN000QYW>000QYX<000
        QYY8000QYY>000QY^:000QY^@000QY^J000Q[\2000Q[]L000Q\[4000Q\[J000Q\]6000Q\nJ000Q\oB000Q]SN000Q]VH000Q^Z4000Q^[00
        00Q^[L000Q^^0000Q^`8000Q^lD000Q^m:000Q_Q>000Q_`L000Q_bH000Q_oH000Q`Q0000Q`Q8000Q`^N000Q`j<000QaR4000QaR>000QaR
        F000Qbm0000Qbm@000QcW6000Qc`H000Qc`L000QccH000Qcj8000Qck0000Qck6000QckB000QdQD000QdSF000QdT0000QdTJ000Qd_6000Q
        db:000Qdb@000QdmL000Qdn0000Qdo4000Qe^J000QeaH000Qeb4000Qef>000Qeg0000Qeg4000QegF000Qei@000Qfb4000Qg[2000Qg[D00
        0Qg]N000Qg_8000Qg_F000Qg`8000Qg`>000QgbL000Qgc2000Qgd2000Qgd:000Qge2000QgfF000QggB000Qgh0000QgkD000Qgl@000QglF
        Q:00gmO100gm7QC00R7100a`B001a`FS04hWEhWB04hWGhWD24Q=4RO4TGQ:QA01`S1000_hA000`S3001_hA002`S7005_hC000`R;002`SE0
        00`R5009`SG00D_nK101`U1001_iO000_iI000_iG000_i?000_i9000_i7000`U3000_i3000_i1001`U7000`U5001`U3000`TM000`TK004
        `TI000`TE000`T?000`SM000`SA000`S9001_i1002`RI001`P5000`P1001_oA000_o?000_nM000_nI300^VL000^_B000^W:000bd<000^W
        8000^Y<000^W6000QQiB000^[N000^WL000^V:000chH000bi4000^aFS05hm?X]@X]=05hmAX]DX]A05hmCX]FX]C05hmEX]JX]G05hmGX]LX
        ]I05hmIX]NX]K05hmKX^2X]O05hmMX^6X^305hmOX^8X^505hn1X^<X^905hn3X^>X^;05hn5X^@X^=05hn7X^BX^?05hn9X^DX^A05hn;Rem@
        Rem=05hn=RhW0RhVM05hn?Ri[HRi[E05hnARke8Rke505hnCRlj0RliM05hnERmnHRmnE05hnGSPX8SPX505hnISRaHSRaE05hnKSSf@SSf=05
        hnMSVP0SUoM05hnOSWTHSWTE05ho1SXY@SXY=05ho3SY^8SY^505ho5SZc0SZbM05ho7ST]8ST]506ho9SRoHn0SSmE06ho;SRoHXZ0S[YE15h
        o?QVm@QVm=05hoAQWV8QWV505hoCQVn2QVmO05hoEQ[[6Q[[305hoGQWVHQWVE05hoIQXd:QXd705hoKQVmFQVmC05hoMQXd6QXd305hoOQWS:
        QWS705iP1QYaBQYa?05iP3Qc^0Qc]M05iP5QhT6QhT305iP7QfPHQfPE05iP9Qc`0Qc_M05iP;RXjBRXj?05iP=Q[_>Q[_;05iP?QbkJQbkG05
        iPAQdP4QdP105iPCQc^2Qc]O05iPEQla<Qla905iPGQYn:QYn705iPIQiU2QiTO05iPKRVWBRVW?05iPMQlc:Qlc705iPOQYXHQYXE05iQ1QW[
        FQW[C05iQ3QZU8QZU505iQ5Q]cLQ]cI05iQ7Qk[FQk[C05iQ9QW]BQW]?05iQ;RVYNRVYK05iQ=QYbHQYbE05iQ?Qld:Qld705iQAQW^BQW^?0
        5iQCRPl4RPl105iQERPlFRPlC000a`F000fS>000id2000QTd@85hmO8M04iQM104iQO004iR1204iR3404iR5604iR7804iR9:04iR;<04iR=
        >04iR=504iR?304iRA104iRC004iRE204iRG4000`eO001`eM002`eK000`eI001`eG004`eE000Qli4000QoRB000RPW8000RR`F000RSe<00
        0RTj2000RWS@000RY\N000RZaD000R\k2000R]oH000R_T>000R`Y4000Ra]J04R\kH_e?04R[WNj7000RZS4100]h0000^PF000]h>000bU@0
        00^Q0000_^@000]gJ000_^8000]m:000`[@000jWL000nn0000lj@000jYF000Q_d6000bY0000ie:000jiB000jW>000QSZF000`gB000on80
        00Q]PF000QS\<000`QH000QScN000QQYJ000c]@000Q^lJ000_XJ000`]4000mTB000Qbf:000^W0000__>000l\0000]f<000]h@000]f:000
        ecN000`dF000`Y4000d^J000d[F000QRS>000^U8000Q]QB000`Z:000cVH04iWK604iWM804iWO:04iX1<04iX1704iX3504iX5304iX7104i
        X9004iX;204iX=404iX?604iXA804iXC:04iXC904iXMQc]>04iXMQc]<04iXMQc]:04iXMQc]804iXMQc]604iXMQc]404iXMQc]204iXMQc]
        004iXMQc\N05iY?1Qc]@05iYA0Qc]>05iYC2Qc]<04iV7105iV?JE04iVAQ205iV5@O000QRK000QRI000QRG000QRE001QRC000QRA000QR?0
        00QR=000QR;000QR9000QR7000QR5000QR3000QR1000QQO000QQM000QQI000QQG000QQE005QQC000QQ?000QQ;000QQ7000QQ3004QPO000
        QPM000QPK005QPI003QPG04]n:Rj@06QUKRNRFS706QUMTBQ;S706QUOU2QAS?05QV1UDQ106QUOR>R@T505QV1TNS305QUO6TD07QUMQ2CTJS
        506QUOU8U1U205QUMTBSC05QUOU4QG05QUO=T<06QV1SLR;:06QV3T45Q405QV3T2<05QV5T>Q904QV3305QV5QJS206QV9S@:Q406QV9SJRES
        H04QV=T007QV?T0SISBA08QVAT0GQFS7R607QVCT04RG:05QV?SBA07QVASBAQ?RF07QVESHRMQ?TB06QVGSLNRM05QVETFT505QVCS@R105QV
        ETBQM06QVCQ1FSH07QVESLS3SFQG06QVCS6BT505QV=S@S305QV?S@RE05QV7SHT504QUKO04QUIR404QUMRF04QUK805QUEE:05QUERER007Q
        UCRFT1S@RE05QUERFS?06QUIRHO107QUCS3Q>NR605QUER9SH04QUGR104QUKQ@07QUIS7T@R;<06QUKS3UBS707QUKQ5GOT805QUOQ8D07QUK
        RAQ0SJQ104QUIQI05QUKM>05QV1Q6R=05QUOQBSC05QV1R4T705QV5R6SI06QUOSATNRE05QV3NR504QV7Q@05QV5Q<RC05QV;R2Q105QV=R2A
        06QV9SCFSL05QV;SCT>05QV=QEH05QV?JSG07QVAQ:SGS0H06QVAROSL<04QVCF07QVEFQCRHQ104QVCS906QVES9QHRF06QVGQFS7R605QVCQ
        @S505QVEQ@Q105QVCT7U206QV=R=:R604QV?105QV?Q=R@06QVAQ2R;Q:04QVAG07QVC>REQ;T205QV?RG:04ib?QhXB04ib?QhX@04ib?QhX>
        04ib?QhX<04ib?QhX:04ib?QhX804ib?QhX604ib?QhX404ib?QhX204ib?QhX005ic11QhXB05ic30QhX@05ic52QhX>05ic74QhX<05ic96Q
        hX:05ic;8QhX805ic=:QhX605ic?<QhX405icA>QhX205icC@QhX005icC3QhXB05icE1QhX@05icG0QhX>05icI2QhX<05icK4QhX:05i`A@M
        04i`K504ia3Q805ia31Q204i`;>04i`;I04ia5B05ia7BSE05ia9BSC04ia1H04e_@QiJ04i[2Xj104bjDYSH04iY0SZJ06jZFTaEWo9eR804i
        `OM04ia5I04gl;QeE04ia;G04iaAC04iaCA04iaAE04iaO905ib93F06iaK?3F04iaCC04iaI?04glOQe;04gm1Qe904ib1;04ib7704ib?Q40
        5ib;5Q405ib99Q405ibG2Q405iaOGQ404gmAQdO04ibA104ic5@04ibI204ic5>04ibG104gmMQdM04ibM004icCD04ic5405ic30SE05icIDS
        E04ic7SE05ic=4SE05ic;0SC05id1DSC04ic?SC05icE4SC05icC`j@`j306icE`j@`j3T104icAM05icM:M05icK6M05id9BM05icEQ1607ic
        GQ16`k2`j308icIQ16`k2`j3T104icO604id5:04go;QdA04id;<04id7<04id=@04goCQd;04idCB04idIF04idGB04idC>04idIB04goOQd9
        04idOD04ie5H04ie3D04ie9QeL04ie7QeH14if1N04if1004if3206if5`k4`jC714if7304if3Q404if3=04if5@04if5:04if3004if5404i
        f7B04if7204if9405if;6?04if=H04if=E05if?7605ifA4504if=?15ifA0504ifC404if?104ifA604if;Q905if?`iN`j?05igK`k8`j?04
        ijMQbk804ijMQbk604ijMQbk404ijMQbk204ijMQbk004ijMQbjN04ijMQbjL04ijMQbjJ04ijMQbjH05ik?1Qbk:05ikA0Qbk805ikC2Qbk60
        5ikE4Qbk405ikG6Qbk205ikI8Qbk005ikK:QbjN05ikM<QbjL05ikO>QbjJ05il1@QbjH05il13Qbk:05il31Qbk805il50Qbk605il72Qbk40
        5il94Qbk205il;6Qbk005il=8QbjN05il?:QbjL05ilA<QbjJ05ilC>QbjH05ilC5Qbk:05ilE3Qbk805ii?;Flb01F2C1=2100RaU3000RaU1
        T416231N210018112100RUP701424002100Rbb?21123192100Rbd7000RbdM000RbdE000Rbd1000Rbd7100Rba3000RbbC000Rba9000Qj00
        172100RO000Rbd5000RUS?0112100Rbf=000230025122100RcT1E00RchM000RchI000Rch50002200Rc]1000RcZ;k200RS9000R;000Rd_5
        000I900Rd]G60R?R[lOcZ000Qf[?000RYPI000QeS?000QfSE000RUS5000Re]5000Rbb1000Q\fE000Q\fG000R_k?000QccA000Rah7000R_
        l7000R[a=000RQZ9000QlhC000Qi]1000Qhe=000QhQC000QdX7000RWa3000RUoC000RTSI000RRcA000Qj]E000QcjM000Q_bA000ReYA000
        Rbj=000RWQA000RS`5000Qi_3000Q]`3000R]m1000RTc=000Qie;000QgkO000R[UG000QkdK000Qh`?000R]UK000RYQ3000RUkO000RSRM0
        00QdUK000Rdj=000Rcg=000RcU1000RZVG000RWUK000RSb3000RQTG000Qlc5000QibM000Qi]C000Qed?000QaP;000Q^lC000Q]cO000RPZ
        M000QokI000QmiI000Qjg9000QcSE000Q]\1000QgVE000R`V5000R]SM000Qn^7000Ql\=000RS^7000RPWI000QfX;000QaU3000R`W3000R
        ^^A000RWcA000RUg5000RUSM000QnQO000QmaA000Qa`;000RcWO000Ql\?000Rcg?000RchA000QocC000QmiA000Qjf=000Qa^7000QfmC00
        0R[XG000RWeC000QgUM000Reb9000R^g?000R\dK000RRmC000RQo3000RcTG000RPVA000Rdj;000R\kI000ReeC000RVYG000RYo1000QnT?
        000Rbj?000R``K000RQVG000Qjb9000Qg\9000RVk;000Qdl1000RV^C000R[W9000QkXM000RZm9000RRQ1000Re\A000RdPM000RcjO000RX
        _A000QnY7000Qk`I000QgZE000QcjM000RcXC000RbcK000R`PK000R]Y;000RYkK000RTh;000RPUE000QamA000Q_aI000Q]_1000Q][E000
        Rc^M000RY\9000RWQ9000QeRE000R]aC000R[oM000R[hO000RZ_=000RUVM000RTTC000RR`E000QolE000Qmj3000Qlb?000QeW3000QjZE0
        00Qdg=000QcU1000Rch9000Rc_C000Rb^1000RT]=000Qh]K000Qg_=000R]]A000R\jK000R[RA000RVo=000Qnf?000RSS3000Re\7000RaZ
        O000R^l5000R]o1000R\hO000RRoE000RRd9000QmQ9000QlfC000QcgI000Qa[G000QaVE000Q`iG000ReRC000RPP?000QdP5000Qa_O000R
        \]?000Rec7000Rd^1000R^lK000R^gK000RZR9000RWkI000RSo3000RQgM000Qj\;000Qdd=000Q]S=000RYcI000Qai?000RccK000RYTI00
        0RXm;000RVXA000RUbM000RRl5000RRW7000RPf5000Qn[M000Q`g3000RdV7000R[j7000QaeE000RdjA000R^[G000RUnG000QeZI000R]TI
        000R\Y9000RXl5000RSU7000Qae;000Rck7000RblM000R^gC000RYlI000RYY5000RXcC000RV_K000RRmK000RRP5000QmVI000Qha?000Qh
        `=000QdQI000Qa`?000RcZG000RUc3000RblO000RTQK000RRe=000Qio;000QadK000Q^iE000Q]e7000RYUI000RVRC000QlPK000QobG000
        Qo]?000Qnf=000RScC000RTf3000QgZ7000RecI000Qk\?000Rcl9000RcoA000R]eE000R[bM000QnbI000R_WM000RV^=000RYe3000Qe\G0
        00QhkG000QakG000QhWM000R]c?000Rd\G000RbTI200R`k;100RYiK200RdS=000RS^G000RQdI000RP]G000RP[E000RP[9000RPXG000Qa\
        ;000QneM000QmV1100QjPK100QgbC200QdnI000QdbA300Q`cE000Q`bM000Q``7000Q^WA000QddO000Qag?000ReX3000RddC000Rd^9000R
        cfC000RcdO000Rc^7000RbYA000RbS1000RalO000R`oA000R`i3000R^m=000R^lK000R\jA000R\];000R\[1000R\TK000RZ_3000RZUO00
        0RYk3000RXkM000RV\K000RVRG000RUb9000RT]C000RTQK000RSR?000RPkC000RP`K000RP`7000RP`;000RP_M000RP_C000RP_7001RP\9
        000RPQ7000Qom7000QoY;000QnV5000QnTM000QnQ?000Qm^?000QmU;000QlVM000Qkn7000Qkn9000QkP?000QhdO000Qh\E000Qgf1000Qg
        bC000Qfi1000QfeI000QeZO000QeRM000Qah9000QaVC000QaRM000R\o;000UTX4000QlU9200RfTC000Rd[G000Rd`C000Re_5000RdbM000
        Rd_9000RcjM000RcgI000Rb]E000Rbb7000Rb^1000RbYA000RaR3000R`lC000R`cC000R`bE000R`QK000R_eA000R]jO000R]jC000R]aE0
        00R]]?000R\jK000R\cA000R\gO000R\_E000R\bC000R\YA000R\U?000R[\A000R[W3000R[SI000RZcC000RZQI000RYgE000RYg?000RYc
        K000RWaG000RW]G000RVe;000RUkI000RUlK000RUg?000RUWI000RTbK000RQ_;000RTVA000RSnO000RSg;000RSRO000RRiG000RRf?000R
        RX=000RRX;000RQmG000RQlG000RQk7000RQeM000RQfC000RPmM000QooE000Qo^I000QoS5000Qne7000Qn[G000Qmg5000QmZI000Qkf100
        0Qk\9000QicG000Qhg9000Qhc1000Qhb3000QgoC000Qgl3000QgnO000QgkE000QgkM000Qgm1000Qgh;000Qgc;000QfkA000QehC000QeU1
        000QdbE000QdTM000QbTC000Qan7000Qag3000Qa^K000Qa\E000Qa[O000QaY1000Q_kE000Q]c3000TfgF000Tfg8000Tl`8000Roc9000Rm
        [E000RmYE000U[g8000U`oD000VQoH000Q]i9000Q]dEQ64SmYC004SmYE604SmYG<05SmYI0605SmYK0<04SmY3204SmY52<4SjiM404SjiOM
        04Sjj1A04Sji??04Sjj5=54Sjd7R914SjbISE000SjcK000Sje1001SjdM002SjdA000SjcM000SjcK000Sm_K04Sjd1R?04Sjd3R=05Sjd5RI
        :05Sjd7RI<04SjeKQA04SjeMQ?04SjeOQ704SjeOQ904SjeOQ;04SjeOQ=04SjeOQ?04SjeOQA04SjeOQC14SjeOQG04SjeOQI04SjeOQK04Sj
        eOQM04SjeOQO14SjeOR314SjeOR704SjeOR914SjeOR=04SjeOR?14SjeORC04SjeORE04SjeORG04SjeORI04SjeORK04Sjg;QG04SjgEQ304
        Sjg3QG04SjfCR904SjgMH000Sj]M000Sj]O000Sj]=000Sj]?000Sj]A000Sj]C000Sj]?000Sj]A000Sj]C000Sj]E000Sj]C000Sj]E000Sj
        ]G000Sj]I000Sj^7000Sj^9000Sj^;000Sj^=000Sj^5000Sj^7000Sj^9000Sj^;000Sj^I000Sj^K000Sj^M000Sj^O000Sj\;000Sj\=000
        Sj\?000Sj\A000Sj\?000Sj\A000Sj\C000Sj\E000Sj^K000Sj^M000Sj^O000Sj_1000Sj_5000Sj_7000Sj_9000Sj_;000Sj_7000Sj_90
        00Sj_;001Sj_=000Sj_?000Sj_A000Sj_C000Sj_9000Sj_;000Sj_?000Sj_A000Sj_?000Sj_A000Sj_O000Sj`1000Sj_3000Sj_5000Sj_
        E000Sj_G000Sj^9000Sj^;000Sj^=000Sj^?000Sj^5000Sj^7000Sj^9000Sj^;000Sj^5000Sj^7000Sj^9000Sj^;000Sj^A000Sj^C000S
        j^E000Sj^G000Sj^7001Sj^9000Sj^;000Sj^=000Sj^?000Sj^7001Sj^9000Sj^;000Sj^=000Sj^?000Sj^G000Sj^I000Sj^K000Sj^M00
        0Sj]G001Sj]I000Sj]KQ100Sjb;000Sjb=000Sjb?000SjbA000Sj`O000Sja1000Sja5000Sja7000Sja5000Sja704Sja;U5000Sja5000Sj
        a7000SjaE000SjaG000SjaA000SjaC000Sja7000Sja9000Sja;000Sja=000SjiM000SjiO04Sjl7204Sjl9204Sjl;ZN04Sjl=ZN04Sjl?R4
        04SjlAR404SjlCZ204SjlEZ204SjlGZ004SjlIZ004SjlKZ404SjlMZ404SjlOZD04Sjm1ZD04Sjm3ZD04Sjm5R604Sjm7R604Sjm9R6000Sjb
        O000Sjc1000Sjc3000Sjc504SjmC<04SjmE>04SjmGQN04SjmIR604SjmKR804SjmI804SjmK:04SjmM<04SjmOQJ04Sjn1R204Sjn3R404Sjn
        1404Sjn3604Sjn5804Sjn7QF04Sjn9QN04Sjn;R004Sjn;204Sjn=QD04Sjn?QL04SjnAQN04SjnA204SjnCQB04SjnC104SjnEQ@04SjnE304
        SjnG104SjnIQ>04SjnA=04SjnC;04SjnE904SjnGQ404SjnE?04SjnGQ004SjnGC04SjnIA04SjnK?04SjnMN04SjnMC04SjnOL04SjnOJ04Sj
        nOI04Sjo1H04Sjo1K04Sjo3F04SjnGQ904SjnIQ704SjnKQ504SjnM804SjnO@04Sjo1B04Sjo1Q904Sjo3604Sjo5>04Sjo7@04Sjo7QG04Sj
        o9Q=04Sjo;Q;04Sjo=Q904Sjo?204SjoA404SjoC<04SjoE>04SjoEQ?04SjoGQ=04SjoIQ;04SjoK204SjoM:04SjoO<04SjoOQA04SkP1Q?0
        4SkP3Q=04SkP5004SkP7804SkP9:04SkP9QC04SkP;QA04SkP=Q?04SkP?104SkPA604SkPC804SkPCQE04SkPE304SkPG404SkPI604SkPEQK
        04SkPGQI04SkPIQG04SkPK904SkPM104SkPO004SkRET004SkRESN04SkQ7R>05SnSKSRH:05SnSMSRJ805SnSOSRL605SnT1SRN405SnT3SS0
        205SnT5SS2QN04SkSKF04SkSMH04SkSOQN04SkT1R004SkT3R604SkT5R804SkT3B04SkT5D04SkT7QJ04SkT9QL04SkT;R204SkT=R404SkT;
        >04SkT=@04SkT?QF04SkTAQH04SkTCQN04SkTER004SkTE<04SkTG>04SkTIQD04SkTKQF04SkTMQL04SkTOQN04SkSE@04SkSGB04SkSG>04S
        kSI@04SkSIQG04SkSK204SkSM404SkSO<04SkT1>04SkT1204SkT3:04SkT5<04SkT5QK04SkT7004SkT7Q904SkT9Q704SkT;104SkT=004Sk
        T?604SkTA804SkT=R>04SkT=QA04SkT?Q?04SkTA904SkTC704SkTE104SkTG004SkW1<04SkW3>04SkW5@04SkW7QN04SkW9R204SkW7804Sk
        W9:04SkW;<04SkW=QJ04SkW?QN04SkW=404SkW?604SkWA804SkWCQF04SkWEQJ04SkWEQD04SkWE204SkWGQB04SkWG104SkWIQ@04SkWI304
        SkWKQ>04SkWC=04SkWE;04SkWG904SkWIQ404SkWG?04SkWI=04SkWKQ004SkWKC04SkWMA04SkWO?04SkX1N04SkX1C04SkX1J04SkX1I04Sk
        X3H04SkX3K04SkX5F04SkWIQ904SkWKQ704SkWMQ504SkWO804SkWOQ904SkX1604SkX1Q=04SkX3Q;04SkX5Q904SkX7204SkX9404SkX9Q?0
        4SkX;Q=04SkX=Q;04SkX?204SkXA604SkXAQA04SkXCQ?04SkXEQ=04SkXG004SkXGQC04SkXIQA04SkXKQ?04SkXM104SkXO204SkXOQE04Sk
        Y1304SkY3RB04SkXOQK04SkY1QI04SkY3QG04SkY5904SkY7504Sk[AQN04Sk[CR204Sk[AQJ04Sk[CQN04Sk[AQF04Sk[CQJ04Sk[CQD04Sk[
        EQH04Sk[7Q404Sk[9Q804Sk[9Q204Sk[;Q604SkZ?204SkZA404SkZA204SkZ?104SkZA204SkZ;904SkZ=505Sk[3L605Sk[5N405Sk[7Q020
        4Sk[KQ404Sk[MQ604Sk[KQ004Sk[MQ204Sk[MN04Sk[OQ004Sk\?Q<04Sk\AQ>04Sk\AQ:04Sk\CQ<04Sk]3QH04Sk]5QJ04Sk]9QJ04Sk];QL
        04Sk]9QF04Sk];QH04Sk\OQ804Sk]1Q:04Sk]1Q604Sk]3Q804Sk]9?04Sk];=04Sk]=;04Sk]?Q204Sk]A504Sk]E304Sk]C704Sk]C904Sk]
        CQ404Sk]EQ604Sk]CQ004Sk]EQ204Sk]EN04Sk]GQ004Sk^7Q<04Sk^9Q>04Sk^9Q:04Sk^;Q<04Sk^KQH04Sk^MQJ04Sk_1QJ04Sk_3QL04Sk
        _1QF04Sk_3QH04Sk^GQ804Sk^IQ:04Sk^IQ604Sk^KQ804Sk_1?04Sk_3=04Sk_5;04Sk_7Q204Sk_9504Sk_=304Sk_;704Sk_;904Sk_A?04
        Sk_C=04Sk_E;04Sk_GQ204Sk_KQ804Sk_KQ604Sk_GL04Sk`1=04Sk`3;04Sk`5904Sk`5?04Sk`7=04Sk`9;04Sk`5L04Sk`5J04Ska9R804S
        ka;R8B5Skb;4QB05Skb=6105Skb?6105SkbA6Q@05SkbC8Q>05SkbEQFQA05SkbGQFQ?05SkbIQFQ=05SkbGQBQ?05SkbIQBQ?05SkbIQ@:05S
        kbKQ@805SkbA;105SkbC=205SkbE=QJ05SkbGQ4Q?05SkbIQ4Q?05SkbKQ4QA05SkbMQ4005SkbOQ4005SkbM?005SkbO?005Skc1Q0005Skc5
        =Q@05Skc7=Q@05Skc9?QL05Skc;Q2Q=05Skc=Q2Q=05Skc?Q2005SkcAQ2005Skc?AQH05SkcA?Q>05SkcC?Q>05SkcCLQ?05SkcELQ?05SkcG
        L005SkcIL:05SkcGIQB05SkcIH005SkcKH005SkcMH805SkcMF005SkcOF:05Skd1F805SkcEQ5Q>05SkcGQ5Q>05SkcG6Q?05SkcI6005SkcG
        Q=Q@05SkcIQ=QJ05SkcKQ=QH05SkcMQ?005SkcOQ?005Skd1Q;Q>05Skd3Q;Q>05Skd52Q?05Skd72Q?05Skd7Q?105Skd9Q?Q@05Skd;Q?QJ0
        5Skd=QA205Skd?QAQB05SkdAQ=305SkdCQ=Q>25SkdIQA405SkdG3QA05SkdI3005SkdMQAQ@05SkdOQAQH05Ske1QCQB05Ske3QCQB05Ske5Q
        CQJ05Ske71:05Ske91805Ske39005Ske59005Skg;<QH05Skg94QL05Skg;4QJ05Skg=8QH05Skg?8QF05SkgAQF:05SkgCQF805SkgAQB:05S
        kgC2QH05SkgEQB805Skg99QF05Skg7?QJ05Skg;=QJ05Skg9AQJ05Skf?Q?QL05SkfA2:05Skf7QIQJ05Skf9QKQL05Skf;9:05SkfG0:05Skf
        O6:05SkfIQAQJ05Skg36Q?05Skg1Q=Q@05SkgIH:05Skg74:05Skg3QC205Skg7Q=QH05Skg;Q?QB05Skg?4005Skg?Q?QB05Skg=QC205Ski3
        2QJ05Ski31QL05SkgEQAQL05SkgO8:05SkiC:QJ05SkgO4005SkhEIQB05SkhOQ0005Ski59QH05Skh1QCQLQ85SkkENXL05SkjM4XL06SklEQ
        J0606SklGQHQEB06SkjMQ?Q@Q;06SkkONEH06Skl94Q:706SkkKF<506SkjOQ9Q2205Skl7N:0DSkl9N:SRASP>QJ06SR=SQBF<5SR=SR@Q9Q2
        20:SklMQ@SR7SPHQ@QIQJ606SklEYFZ9QJC00Snn7000SWPO101SnmA000Sno7000Snm=001SWP1H00S_QI000S_QM000Snm7000Snm9001SoP
        I000SnkG000SnkE001SWR9001SWRE001SWS5001SWS=003SWS9200SnnG000SnnE04SoRAQ^:04SoRCQ^:04SoREQ^:04SoRGQ^:000SnnK000
        SnnM000SnnO000SoR7000SWTO200SoQA000SoQE000SoQ=000SoS;000S_T7001SoS1000SnmO000SnmM001SWTA000SoSG000SoSC001SoS=0
        00SoS;000SoR?000SoR=000SoRA100SoPG001SoT9000SoRE44SoTOSRF04SlS1F04SoU3SRH14SoU7SRJ14SoU;SRL04SlS=L04SoU?SRN04S
        lSAN04SoUCSS004SlSEQ004SoUGSS204SlSIQ204SoUKSS404SlSMQ4001SlUM001SlUO001SlV1001SlV3001SlV5000SlV7000SlV9001SlV
        ;001SlV=000SlV?000SlVA001SlVC001SlVE000SlVG000SlVI001SlVK000SlVM000SlVO001SlW1000SlW3000SlW5001SlW7000SlW9000S
        lW;001SlW=000SlW?000SlWA001SlWC001SlWE001SlWG001SlWI001SlWK000SlWM000SlWO001SlX1000SlX3000SlX5001SlX7000SlX900
        0SlX;001SlX=000SlX?000SlXA001SlXC000SlXE000SlXG001SlXI000SlXK000SlXM001SlXO000SlY1000SlY3001SlY5000SlY7000SlY9
        000SlY;000SlXO000SlY1000SlY3001SlY5000SlY7000SlY9001SlY;000SlY=000SlY?001SlYA000SlYC000SlYE001SlYG000SlYI000Sl
        YK001SlYM000SlYO000SlZ1001SlZ3000SlZ5000SlZ7001SlZ9001SlZ;001SlZ=000SlZ?000SlZA000SlZC04Sl[1R304Sl[3R304Sl[5R1
        04Sl[7R104Sl[9QM04Sl[;QM04Sl[=QI04Sl[?QI40OSo]O00ISo[O00Q3So]O001SZmC000Soc5001SWe;000SWf5000SWVC000SWW7000SW\
        ;000SW\9000SW\7000SW\5000SW\3000SWXA000SWX?000SWX=000SWZG000SWW7000SW\M000SW\K000SW\I000SW\G001SW\E000SW\C000S
        W\A000SW\?000SW\=000SW\;000SW\9000SW\7000SW\5000SW\3000SW\1000SW[O000SW[K000SW[I000SW[G005SW[E000SW[A000SW[=00
        0SW[9000SW[5004SW[1000SWZO000SWZM005SWZK000SWZI000SWZC001SW`9101SgZ1000SfoA000SgZ3001SfoA002SgZ7005SfoC000SgY;
        002SgZE000SgY5009SgZG305SgV1205SgV5205SgV9202SgV=301SocK000Soc;04Sol5Q^8000SocK000SocO000S_cI100S]^;003S_UA000
        S]TI000S]R5QPA0Q7R@T80Q3R@TL0:R>10>R>106R>101R>_;01TR[1000TSYI000TR^E000TRc3100TR^7000Q^R3000TR^7000TR^;001TRc
        9000SdoG000TRc;000TRc1000TR^=000TRbI000TRbO000TRc5000TR_A000TSVK000TR_C000TRbO000TRa7001TR^M000TRbM000S[f@000Q
        `PM000TRbO000S[f<000TRa3000S[f:000TSZC001TRbI000TSc7000TRbG000S[f2001TRbE000TRbC000TR`5000TR`;000Q^T;000TR`=00
        0TRb=000S]cM100TRb5001TRa3000TRaI002TRo;000S[e2000S[f8QV50QBT0TM0ER0RiJ0OR0e\00OR0gcF0IWVW9009WV[OQS44=L04=J05
        ?JB05AJD05CJF05EJH05GJJRF43U7043U9057U7B057U9B05;U7D05;U9DaO0IWYiM00IWYkA00IWYm5006WYnI10AWYnI00IWZP=00IWZR101
        1WZSE000WZSE200WZSE201WZSE203WZSE107WZSE003WZU9111WZU9005WZU910:WZU900IWZVM00IWZXA001WZZ5103WZZ5207WZZ5106WZZ5
        10IWZ[I001WZ]=103WZ]=104WZ]=100WZ]=306WZ]=10IWZ_100IWZ`E00IWZb900IWZcM00IWZeA00IWZg500IWZhI00IWZj=00IWZl100IWZ
        mE00IWZo900IW[PM00IW[RA000WZg5000WZVK20@WY_=000WY`1006WY_=000Vj[C00@WYa1000WY`O006WYa1000Vj]A000WYb=000WYb9000
        WYb7000WYaA000WYaM000WYb100@WYc1000WYcE006WYc1000Vj_700@WYdE000WYdC006WYdE000Vja5000WYf1000WYeM000WYeK000WYe50
        00WYeA000WYeE00@WYfE000WYg9006WYfE000VjbK00@WYh9000WYh7006WYh9000VjdI000WYiE000WYiA000WYi?000WYhI000WYi5000WYi
        900@WYj9000WYjM006WYj9000Vjf?00@WYkM000WYkK006WYkM000Vjh=000WYm9000WYm5000WYm3000WYl=000WYlI000WYlM00@WYmM000W
        YnA006WYmM000Vjj300@WYoA000WYo?006WYoA000Vjl1000WZPM000WZPI000WZPG000WZP1000WZP=000WZPA000WYnI000WYnK209W[iK00
        9W[j?009W[k3009W[kG009W[l;RQ@08W]oO002W]oM00:W]oK000W]oG001W]oE000Tll1000W]g3000W]o;000W]o9000W]f9000W]iO000W]
        h1008W^R1001W^QO001W^QK000W^QI005W^QG001W^QE000W]m;000W^Q3000W^Q7000W^PE000W]kO000TmQE000W]kGRTB0Q1R4QVN01WcmA
        000Wcm;000Wcm7100WckI000Wcm7000WcmC000Wcm1000WckM003Wcl=000WcmE000Wcm;000WclM000WcmG000WclO000Wcn3000WcmO001Wc
        nE000WcnA000Wcn?000Wcn5000Wcn3000Wcn1000WcjK000Wcf5000WcgI000WcjO100WcoA000Wco;100WcmI200WcoC100WcmM003Wcn=000
        WcoE000Wco;000WcnM000WcoG000WcnO100WcoO001WdPE000WdPA100WdP5100WdP1600WdQ;400WdQC100WcoM111WdP=000WdQE000WdQ;1
        00WdQG000WdPO100WdQO200WdRA100WdR5100WdR1100Wcj5100WcnO100WdSA000WdS;100WdQI200WdSC000WdS1000WdQM011WdR=000WdR
        =000WdSE000WdS;000WdRM000WdSG000WdRO100WdSO001WdTE000WdTA100WdT5000WdT3000WdT1000WdPK100WcmI101WdUA000WdU;000W
        dU7001WdSI000WdU7000WdUC000WdU1000WdSM102WdT=000WdUE000WdU;000WdTM000WdUG000WdTO000WdV3000WdUO001WdVE000WdVA00
        0WdV?000WdV5000WdV3000WdV1500WdWA000WdW;000WdW7100WdUI000WdW7000WdWC000WdW1000WdUM102WdV=000WdWE000WdW;000WdVM
        000WdWG000WdVO000WdX3000WdWO001WdXE000WdXA000WdX?000WdX5000WdX3000WdX1b54Wh]1704Wh]1904Wh]1;04Wh]1=04Wh]1?04Wh
        ]1A04Wh]1C04Wh]1E04Wh]1G04Wh]1I55Wh^?SBS?05Wh^ASDSA05Wh^CSFSC05Wh^ESHSE05Wh^GSJSG05Wh^ISLSI05Wh^KSNSK05Wh^MT0S
        M05Wh^OT2SO05Wh_1T4T105Wh_3T6T305Wh_5T8T505Wh_7T:T705Wh_9T<T905Wh_;T>T;05Wh_=T@T=05Wh_?TBT?05Wh_ATDTA05Wh_CTFT
        C05Wh_ETHTE05Wh_GTJTG05Wh_ITLTI05Wh_KTNTK05Wh_MU0TM05Wh_OU2TO05Wh`1U4U105WPa;gj1gj4000Wh\?000Wh[C04Wh\C204Wh[=
        610IWh\M04Wh^3L04Wh]KB04Wh]AM04Wh]C005Wh]K0<04Wh]?Q7J4Wh_IC04Wh_KA04Wh_M:Q34WhbG<S?4WPh9RO04WPdK0000WPdI=00VWl
        9000V[[C000V_T;000WPdG000Vah?000V\_E000UdS5000V\^K000Vag7000VUoA000VP_A000VVX3000V_lM000VYY1000V`Y1000VVVM000V
        `P5000Uj]M000Un`5000UbgC000V\c7000V^nG000VQa3000VWi3000VW]5000VbRA000VbR1000U`n1000VZT;000VaoO000V_SE000VWb?00
        0Ub[O000VWmK000Ul[1000UkkA000V_RG000VQk9000VUbI000VUbM000Un`9000V_l=000V^X7000U`^K45WQRGka@ka=05WQRI^o:^o705WQ
        RK_W@_W=05WQRMeg:eg705WQROQPZ:QPZ705WQS1iSNiSK05WQS3QS\6QS\305WQS5a\Ba\?05WQS7jd6jd3700VY[A000V_V3R\N09WmkOQoP
        600Zdl5000ZdlA000Zdl1000Sk^1000ZdZ7000ZdU=000ZdTE000ZdP9000ZchK000ZcfO000Zcb5000ZccG000[QfK000Shm5000Zc\1000Zc
        [E000ZcZG000ZcYC000Si_;000[QeC000ZcZI000ZcX?000Si\E000ZcWO000ZcW7000ZddI000ZcVK000ZcV;000QcSI000ZcR?000ZcQE000
        [QcO000Zbn9000ZbmE000ZbjO000ZbjG000[Q`M000ZbeK000ZbeI000Zbd5000ZbbK001Zbb7000Zba7000Zb^5000Zb]G000Zb]7000Zb[G0
        00Zb[5000Zb[3000Zb[5000Zb[7000SgP?000ZSl9000ZbVG000ZbU?000Sf]9000ZbTK000ZbTA000ZbS9000ZaiK000ZbP9000Zao;000Zam
        =000ZaiK000ZadE000Zac3000Za^O000Za^1000Za\1000Za\3000ZaZK000ZaYI000ZaY;000ZaX?000Z`c9000ZaT;000Z`c;000Z`oI000Z
        `mE000ZcTA000Z_f5000Z`X7000Z`UM000Z`T=000Z`\C000Z`R7000Z`R;000Z_jG000Sag9000Z_f?000Z_f7000Z_e;000Z_d5000Z_cG00
        0Z__I000S`k?000S`g=000Z_W;000Z_T?000Z_SI000Z_XI000Z^oO000[PgA000[PfG000Z^f1000Z^bG000Z^bI000S_Z7000Z^ZC000Z^Y;
        000Z^X?000Z^WI000S^eA000Z^W5000Z^VI000Z\b1000Z^U5000[P_9000Z^Q=000Z^PC000Z]kA000Z]nI000S]Y=000Z]cA000S]Y=000Z]
        `O000Z]a7000Z]`7001Z]YO000[PU7000Z]X=000Z]UI000Z]TA000Z]QK000[PR;000S[`;000[PPK000Z\mE000Z\mA000Z\m=000Z\l7000
        QZ_I000Z\i3000SZeO000SZf1000YkY3000Z\g3000Z\g5000ZolM000SRmM000R[[K000Z\c=000Z\bM000Zok?000Z\`3000Z\\O000Z\\=0
        00Z\Z;000Z\QM000Zof=000Zoh;000Z\PM000SXlO000Z[mK000Z[eK000Z[eE000Z[eC000Z[eI000Z[bO000Z[aI000Z[_C000Z[`A000Z[_
        M000Z[]1000Z[[K000Z[[E000Z[Z3000Z[Y?000Z[U=000Z[P7000ZZn3000ZZf=000SVjG000ZZgG000ZZkK000ZZe5000ZZcA000ZZ]A000S
        V\I000ZZYI000ZZ_E000ZZa?000ZoY7000ZZUC000ZZT;000ZZR?000ZZTM000ZoUE000ZYgA000ZYeI000ST[O000ZY^?000ZXm7000ZYX700
        0Znk9000ZYSK000Znl?000ZnnI000ZccO000ZccK000ZXm7000ZYSA000YlRA000Zj_K000ZXl1000ZXkK000ZXkA000ZXgI000ZXhA000SRaC
        000Zni9000ZX^9000ZXeE000ZXXM000ZXUI000SRW;000ZXU;000ZX\;000ZWm3000ZndC000ZWj;000ZWd;000ZW_O000ZWT5000SQTA000ZW
        Q3000Zn];000ZVlK000SPTA000ZViI000ZnZ7000ZVh1000ZVe9001ZVcE000RoVC000S]nI000RnoM000ZVZG000RnSM000ZVSI000ZVRO000
        ZVY=000ZUnA000ZUl3000ZUhC000ZUl1000ZUiC000ZUhG000ZUgO000Rmn?000ZUm5000ZU]A000ZUYE000Zmm=000ZUSO000ZUT9000RmSG0
        00ZUa9000ZTj1000Rlk3000Rlh5000ZTdG000ZT]C000ZT_;000ZT_C000ZmgO000ZT\I000ZTYE000ZTZ3000ZTVI000Sio;000ZSm=000Rk[
        C000ZSh3000Rjg7000ZS_?000ZS^G000ZS]3000RiaE000ZSZ7000ZSXO000Rho1000Rha5000ZRjK000ZRiK000ZmWK000ZRh;000ZmW7000Z
        mW9000ZR^=000ZR]5000ZR[M000ZRZG000ZRV?000ZmQ?000ZRPO000Rf_M000ZQo?000RfZ9000ZQl?000S[iC000ZQbC000RdiC000Rdh700
        0Rd_A000Zld3000Zlc=000ZQTG000RdTK000RdTO000RdRC000RdQ1001ZQR=000ZQR?000ZPoK000Zl`O000ZPkM000Zl`9000Zl[;000RbbO
        000ZP_O000ZP\5000ZPX7000ZlVK000RabG000YooI000Ra[C000RaXO000Yol=000YofG000ZlRA000YoaA000Yo`O000Yo`G000R_mO000R_
        [;000R_[=000YoW1000ZkeK000R^k;000YniG000YniC000ZkcI000R^^9000YnY7000Zk\=000YnWO000YnX;000YnVC000R\n9000YnPA000
        ZkVG000Ymj=000YmfI000YmbE000ZkSI000R[dC000R[bG000ZkQE000R[YG000YloG000R[SA000Yln5000YlgM000Ylg9000RZZ1000RZUA0
        00YlaI000RYm;000Yl`M000SSR1000ZjjG000Yl\O000YlWO000ZjgA000YlT=000Z_]1000RXmO000RXm5000SRo;000SRnK000YkhC000Ykh
        ?000YdnM000Zjb5000Yk_K000Yk`9000Yk_7000Zc]M000Yk^3000Yk^1000Yk]?000YkZO000RWUE000Yk[5000YkWG000YkS=000YjnK000Y
        kWA000YjmO000Yjk=000Yjd?000YkTI000Yjm=000Yjm;000Yjl=000RVfK000RVSC000RV]1000ZjWG000Yj[=000Yj[;000YjY7000RRn100
        0YjT?000RUX1000ZjU1000ZjTK000RToM000RT]M000ZjT=000Yif5000Yie?000YidK000YidI000Yi`K000YibO000YiZE000Yi]?000YiT3
        000YiY7000YiU3000YiS?000Zin?000YhmM000YhkO000ZilA000Yhf5000Yhf1000RQeK000Yh^M000Yh^A000Zii5000Yh\M000[R`M000RP
        aI000RPV;000Zi`M000Zi`=000YgbM000Yg^5000YgT=000YfgI000QnbE000YfbA000Yfa7000Yf[E000YfUO000QmZA000Shm9000YfPM000
        YfQM000YenG000Sh_M000Ye`C000YeZ=000QjPK000Qio7000YddK000Yd_3000Yd]5000Qi[=000Yd\E000YcjM001Yca1000YcfK000Ybo30
        00Ybm=000Qfo5000YbV5000ZhUC000YbSA000QfWC000ZhPG000YabO000Z^T3000Ya]3000Qd[1000QcmI000ZghC000Zgh5000YaQC000Qbo
        1000ZgdC000Qbf=000Y`o5000Y`o7000Y`m=000QbTE000Y`aO000Zg\O000Y`]E000Y`UK000Y`T7000Y`PA000ZgSC000Q_]A000Y__?000Y
        ^lE000Y^`M000ZfcM000Zfb1000Y^Z?000Q\d3000ZfaA000Q\`I000Q\P9000Q[h5000Y]eC000Zf[O000Y]aK000Y]aC000Y]a7000Y]`E00
        0Y]`9000Y]^1000QZQI
        """#

    private static let packedClasses: StaticString = #"""
        Q10<311QA3H213^122372>322L312A3R?411Q144223123052@0B2:0R:223T;284U52Q90QA213203310Q=4151415241524151480K54065A
        023152315131523;4151035171549171917195749=715771927E4::132:1527143955?7B9Q671927991719171927291519741013642524
        134429:;372517>5201914375947199719171917192719K42019;739?72947191729372967Q65;415>0:5Q17942543152014H544159415
        34155420?5101957291719:7191739342015101715471519172950C935172557198094:739151927296719?715H410Q0416QF214161412
        368446142612?42224M214261082202220F21072101230422014123644202620261412801680222420<223721322142024161062402220
        F210721022102210222014103624402420343014:01290:224321412:024161092103210F2107210221052201412365410241610261420
        12?0222420;2137012641014261082202220F210721022105220141216141644202620261470241670322420B2:0141210623032104230
        22101210223022303230<240261426303610361420126016>0=2835014361482103210G210@22014123446103410447024103220122022
        2420:270127322142692103210G210:21052201412161<56101<261026247026602210222420:2102216<0242692103210Q92241236441
        03610361422403216:22420J210142610B230H210921012207230144036341014108660:2202612<0Q@214227440137284=2Q502210121
        05210H2101210:21422941220521012107410:24022Q00H224K2141214121443268210Q4240>41654122452;410Q441082146210=2Q50Q
        ;22644166416242624G226244234123622763244=214262466141216:23614Q82:0T?221W82104220721012104220Q92104220Q1210422
        0721012104220?210QI2104220R322034M230@2:360RF2:013cO210J22330RI270B2341690C224162290B224<0=210321024<0QD221167
        4861426;47213121420:260:360731>3351:260RI8705224Q28141850R62:0O21034462436402614663440133023Q822052;0Q<240J260
        ;230Q23G224261420QG21614167410141614268466:42014:260:260>220O4QA04416Q?214165416145614268210M294<22416N2164426
        241634QH2141624361416342680Q828684262430?230QN2QE082803412=41674421462142216241250V02R14XE2:0Q62:08280N2QB0521
        0?210>2206240@26092<0112320D3301380Q@3515081Q>0Q13?0Q14C0R:3QL22340]63R52J312TD3F0;3U00^1312ZC3X02cD320Q0310TI
        3UE2733244125073Q621012501220QH28012>014G29072107210721072107210721072107210Q04RN3Q20J310RI3X=04332I3924426136
        243223310RF220443213RJ2134250Q;2QD0Q;110Q@2Q63:0Q?2Q90[J2QN0V^02R03ed=230QG390YM233L2E0Q>24413:433M224R@224628
        0Q33S5213R52301210121082I0<21432144214G2262416431430822360QB81?12438026QB2@62480<260B4=214Q6284I2;426;0N230341
        6Q?2142644262436=210;2407214I210Q92642624262490321482141620:220O2161416QB214123422245224121412H0@2162426521614
        :062206220629072107210QJ223RD0Q32261426142612161420:260Zm42<0G240QA2X`B0S02U@0I4SK0A5[K0RB3QO013Q=033B1>0@4E0=
        3Q1025T:011U00O1R10<210J210C2102210?220>2Q20SK25012131240Q=23092R=32210=33013Q?0Q=214T20M230QA2?014K;40Q4290N2
        50Q625450N210Q5240>2RB0SF220:2Q>0Q4240Q8280QD2;0<2L0;210?21072102230QD2<0YG290F2:082H062SJ065201510Q<510253015
        20G510R858095Q@0C5102550Q153013J55015R00QH540D520Q?5341024504445103510M52034401495709570R05Q00571915191529251=
        59471=571937192519244047197590QF53073F520K550851719173937192719172917197045<0492715R@0R95SG0QC570651=Q17191744
        80::60::L5305413G58025V@0O:10Q:51024152025@01927QG044Q85803719A715;4371955F04729<74445Q60171527391517292719271
        51729174519171=D0G590161416QE2?47240D3:214222412903416Q=23644262422104214=0I270:26034Q4254168410?2261280Q32143
        2902416Q@23694268244121614@210D2;0B210I236342614162462142214QN0721012104210?210;260Q?214368450:260242610822022
        20F2107210221052102412261446202620362012601650522620743054;0:21012201210Q6210123664101620161046102614161412143
        210228024M0QE2368426341614E210121432N0Q@236641614462416244280:2U60Q?236442046241624K224Q20Q@236842614162442;0:
        260=3C0Q;2141614266416142260:260D2L0K2201416142644165440G2UI0Q<23694162412T40QC2<08220122082102210H26610262024
        161412161216143290:2R608220Q723644202446143216K012642<24Q826416124482148012642634Q>2=4162492=0R9270:2UF0Q22>0:
        2609210Q5216741064161<62:0M230Q0220F410167416241624R9072102210Q6264301410241074121480:26062102210Q025610241026
        1416141270:2YF0C224262270241216=210Q2226543026141614G214RE012?0E2M3=0lK2S60S?21052;0V42Rb<0S32=0QQ@2@01462?4:0
        SlK250b72VeI0N2<43634:2Qf60aI270O210:240RA210:260N2205412:0Q@274?2:0:2107210E250C2]@0QJ2W60QK2S50R;2401412QG67
        044=2R0022131214;026>0UoH280QVF2Q90:2Xg70421072102210Y32?012M0322012>04280\<2RX40S;250=2309270:22012241241SjL0
        WJ360]D3R<0Q>420G490SD2QL0WF2:0Q7220QL22634326681842274N244QK223E0R233413SJ0D2<0D2<0RG390I2QT70`02QG442QB48214
        >21472?05410?4QR@0O26062VE07410A4207410241054S4014S@0Q=230747220:24022Z00N214A0Q<244:25013^@0L244:2VF0N224;240
        12_00721042102210?210V55209574R;0Q27741@40:54025hA0R45R<0QM5]B023X>0Q<340S43<0?320?310?310Q53E0R53M233QM213QH0
        M2RM063TJ0nH340A330=330SG340RO360<34013?0<340QH380:360Q8380N320<34023QN0ZD3<0>320=330:350QH370?320;3609370TC31
        0S63QP60QYg02Q00TQJ260VN220Ud22>0WYA2?0c>2T]20Tj;250TS02egZ@0W@1Uo`@0
        """#
}
