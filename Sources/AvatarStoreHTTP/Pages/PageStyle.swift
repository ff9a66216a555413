import AvatarDigest
import AvatarFoundation

/// The style of all pages.
enum PageStyle {
    /// The style sheet. The Content-Security-Policy names its digest, so the pages hold it as it is.
    ///
    /// Texts have a contrast of at least 4.5 in both schemes (WCAG 2.2, AA). `--plate` is behind images with transparent
    /// parts; it is light in both schemes, because most logos are drawn for light paper.
    static let css = """
        :root{color-scheme:light dark;--paper:#f6f5f2;--card:#fff;--ink:#1d1d1f;--soft:#5f6368;--line:#e3e1dc;--edge:#85827a;\
        --accent:#0b5fce;--plate:#eceae5;--good:#1b6b33;--good-paper:#e0f3e5;\
        --warn:#8a4b00;--warn-paper:#fff0d6;--bad:#a3201b;--bad-paper:#fde7e5}
        @media(prefers-color-scheme:dark){:root{--paper:#161618;--card:#212124;--ink:#f1f1f3;--soft:#a5a8ae;\
        --line:#36363b;--edge:#7d7e86;--accent:#7db4ff;--plate:#d9d8d4;--good:#8fdca6;--good-paper:#173a22;\
        --warn:#ffcf87;--warn-paper:#43300f;--bad:#ffaca6;--bad-paper:#4a1f1c}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif}
        a{color:var(--accent)}
        :focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:12px}
        header,main,footer{max-width:2600px;margin:0 auto;padding:0 clamp(16px,4vw,72px)}
        header{display:flex;flex-wrap:wrap;gap:16px 32px;align-items:center;justify-content:space-between;\
        padding-top:clamp(20px,3vw,40px);padding-bottom:clamp(16px,2vw,28px)}
        h1,h2{margin:0;line-height:1.2;letter-spacing:-.02em;overflow-wrap:anywhere}
        h1{font-size:clamp(24px,3vw,34px);min-width:0}
        h2{font-size:20px}
        h1 a{color:inherit;text-decoration:none}
        form{display:flex;gap:8px;flex:1 1 260px;min-width:0;max-width:460px}
        label{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        input,button,.button{font:inherit;min-height:44px;border-radius:12px;border:1px solid var(--edge);padding:0 16px}
        input{flex:1;min-width:0;background:var(--card);color:var(--ink)}
        input::placeholder{color:var(--soft);opacity:1}
        button,.button{background:var(--card);color:var(--ink);cursor:pointer;display:inline-flex;align-items:center;\
        text-decoration:none;font-weight:550;white-space:nowrap}
        button:hover,.button:hover{border-color:var(--accent);color:var(--accent)}
        .letters{display:flex;flex-wrap:wrap;gap:4px;margin:0 0 clamp(16px,2vw,28px)}
        .letters a{display:grid;place-items:center;min-width:44px;min-height:44px;padding:0 6px;border-radius:12px;\
        text-decoration:none;font-weight:550}
        .letters a:hover{background:var(--card)}
        .grid{list-style:none;margin:0;padding:0;display:grid;gap:clamp(12px,1.4vw,28px);\
        grid-template-columns:repeat(auto-fill,minmax(min(clamp(136px,8vw,190px),40vw),1fr))}
        .grid li{scroll-margin-top:16px;min-width:0}
        .grid a{display:block;height:100%;padding:16px 10px 14px;border-radius:18px;background:var(--card);\
        border:1px solid var(--line);text-align:center;text-decoration:none;color:inherit;\
        transition:transform .15s,border-color .15s}
        .grid a:hover{border-color:var(--accent);transform:translateY(-2px)}
        .grid li:target a{border-color:var(--accent)}
        .grid img{width:clamp(88px,5.5vw,128px);max-width:100%;height:auto;aspect-ratio:1;border-radius:50%;\
        object-fit:cover;display:block;margin:0 auto 12px;background:var(--plate);font-size:0}
        .name{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden;\
        overflow-wrap:anywhere;font-weight:550;line-height:1.3}
        .state{display:inline-block;margin-top:6px;padding:1px 10px;border-radius:99px;font-size:13px;\
        color:var(--soft);border:1px solid var(--line)}
        .good{color:var(--good);background:var(--good-paper);border-color:transparent}
        .stale,.evicted{color:var(--warn);background:var(--warn-paper);border-color:transparent}
        .failing,.gone,.missing{color:var(--bad);background:var(--bad-paper);border-color:transparent}
        .pages{display:flex;flex-wrap:wrap;gap:12px;justify-content:center;align-items:center;padding:32px 0;\
        color:var(--soft)}
        .note{max-width:46ch;margin:10vh auto;text-align:center;color:var(--soft)}
        .note h2{color:var(--ink)}
        .note p{margin:8px 0 20px}
        code{font:14px/1.4 ui-monospace,monospace;background:var(--card);border:1px solid var(--line);\
        border-radius:8px;padding:2px 8px;overflow-wrap:anywhere}
        .contact{display:grid;gap:clamp(20px,4vw,56px);grid-template-columns:minmax(0,clamp(280px,26vw,480px)) minmax(0,80ch);\
        align-items:start;padding-bottom:56px}
        .contact img{display:block;width:100%;height:auto;aspect-ratio:1;border-radius:28px}
        .large{display:block;border-radius:28px}
        .image{object-fit:scale-down;background:var(--plate);border:1px solid var(--line)}
        .reasons{margin:0 0 24px;padding:16px 20px;border-radius:16px;background:var(--card);border:1px solid var(--line)}
        .reasons .state{margin:0 0 8px}
        .reasons p{margin:0 0 8px;overflow-wrap:anywhere}
        .reasons p:last-child{margin:0}
        dl{display:grid;grid-template-columns:minmax(104px,max-content) minmax(0,1fr);gap:8px 24px;margin:0 0 24px}
        dt{color:var(--soft)}
        dd{margin:0;overflow-wrap:anywhere}
        details{margin:0 0 24px}
        summary{min-height:44px;padding:10px 0;cursor:pointer;font-weight:550}
        .chips{list-style:none;margin:12px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:8px}
        .chips li{max-width:100%}
        .chips a,.chips span{display:inline-flex;align-items:center;min-height:44px;max-width:100%;padding:4px 16px;\
        border-radius:22px;background:var(--card);border:1px solid var(--line);text-decoration:none;overflow-wrap:anywhere}
        .chips a:hover{border-color:var(--accent)}
        .pages strong{display:inline-flex;align-items:center;min-height:44px;padding:0 8px;color:var(--ink)}
        .pages .count{flex-basis:100%;text-align:center}
        .letters small{display:block;font-weight:400;font-size:12px;color:var(--soft);text-align:center}
        .note form{max-width:none}
        .wrong{color:var(--bad)}
        footer{padding-bottom:32px;color:var(--soft);font-size:14px}
        @media(max-width:700px){.contact{grid-template-columns:minmax(0,1fr)}\
        .large,.initials{width:100%;max-width:260px;justify-self:center}\
        dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:10px}}
        @media(prefers-reduced-motion:reduce){.grid a{transition:none}.grid a:hover{transform:none}}
        """

    /// The Content-Security-Policy for styles: allows this style sheet, and style attributes for the colours behind images.
    static let policy = "style-src '\(digest)'; style-src-attr 'unsafe-inline'"

    /// The digest of the style sheet, as a source of the Content-Security-Policy.
    private static let digest = "sha256-" + Data(SHA256.hash(css.utf8)).base64EncodedString()
}
