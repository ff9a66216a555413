/// The style of all pages.
enum PageStyle {
    /// The style sheet. The Content-Security-Policy names its digest, so the pages hold it as it is.
    static let css = """
        :root{color-scheme:light dark;--paper:#f6f5f2;--card:#fff;--ink:#1d1d1f;--soft:#5f6368;--line:#e3e1dc;\
        --accent:#0b5fce;--warn:#8a4b00;--warn-paper:#fff0d6;--bad:#a3201b;--bad-paper:#fde7e5}
        @media(prefers-color-scheme:dark){:root{--paper:#161618;--card:#212124;--ink:#f1f1f3;--soft:#a5a8ae;\
        --line:#36363b;--accent:#7db4ff;--warn:#ffcf87;--warn-paper:#43300f;--bad:#ffaca6;--bad-paper:#4a1f1c}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif}
        a{color:var(--accent)}
        :focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:12px}
        header,main,footer{max-width:1880px;margin:0 auto;padding:0 clamp(16px,4vw,56px)}
        header{display:flex;flex-wrap:wrap;gap:16px 32px;align-items:center;justify-content:space-between;\
        padding-top:clamp(20px,3vw,40px);padding-bottom:clamp(16px,2vw,28px)}
        h1{margin:0;font-size:clamp(24px,3vw,34px);line-height:1.15;letter-spacing:-.02em;overflow-wrap:anywhere}
        h1 a{color:inherit;text-decoration:none}
        form{display:flex;gap:8px;flex:1 1 260px;max-width:460px}
        label{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        input,button,.button{font:inherit;min-height:44px;border-radius:12px;border:1px solid var(--line);padding:0 16px}
        input{flex:1;min-width:0;background:var(--card);color:var(--ink)}
        button,.button{background:var(--card);color:var(--ink);cursor:pointer;display:inline-flex;align-items:center;\
        text-decoration:none;font-weight:550}
        button:hover,.button:hover{border-color:var(--accent);color:var(--accent)}
        .grid{list-style:none;margin:0;padding:0;display:grid;gap:clamp(12px,1.6vw,24px);\
        grid-template-columns:repeat(auto-fill,minmax(min(132px,42vw),1fr))}
        .grid a{display:block;height:100%;padding:16px 10px 14px;border-radius:18px;background:var(--card);\
        border:1px solid var(--line);text-align:center;text-decoration:none;color:inherit;\
        transition:transform .15s,border-color .15s}
        .grid a:hover{border-color:var(--accent);transform:translateY(-2px)}
        .grid img{width:min(88px,100%);height:auto;aspect-ratio:1;border-radius:50%;object-fit:cover;display:block;\
        margin:0 auto 12px;background:var(--line)}
        .name{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:550}
        .state{display:inline-block;margin-top:6px;padding:1px 10px;border-radius:99px;font-size:13px;\
        color:var(--soft);border:1px solid var(--line)}
        .stale,.evicted{color:var(--warn);background:var(--warn-paper);border-color:transparent}
        .failing,.gone,.missing{color:var(--bad);background:var(--bad-paper);border-color:transparent}
        nav{display:flex;flex-wrap:wrap;gap:12px;justify-content:center;padding:32px 0}
        .note{max-width:46ch;margin:10vh auto;text-align:center;color:var(--soft)}
        .note strong{display:block;color:var(--ink);font-size:20px;margin-bottom:8px}
        code{font:14px/1.4 ui-monospace,monospace;background:var(--card);border:1px solid var(--line);\
        border-radius:8px;padding:2px 8px;overflow-wrap:anywhere}
        .contact{display:grid;gap:clamp(20px,4vw,56px);grid-template-columns:minmax(0,340px) minmax(0,1fr);\
        align-items:start;padding-bottom:56px}
        .contact>img{width:100%;height:auto;aspect-ratio:1;object-fit:cover;border-radius:28px;background:var(--line);\
        border:1px solid var(--line)}
        dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:8px 24px;margin:0 0 24px}
        dt{color:var(--soft)}
        dd{margin:0;overflow-wrap:anywhere}
        .reasons{margin:0;padding:16px 20px;border-radius:16px;background:var(--card);border:1px solid var(--line)}
        .reasons p{margin:0 0 8px}
        .reasons p:last-child{margin:0}
        footer{padding-bottom:32px;color:var(--soft);font-size:14px}
        @media(max-width:640px){.contact{grid-template-columns:1fr}.contact>img{max-width:240px;justify-self:center}\
        dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:10px}}
        @media(prefers-reduced-motion:reduce){.grid a{transition:none}.grid a:hover{transform:none}}
        """
}
