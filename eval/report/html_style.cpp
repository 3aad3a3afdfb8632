#include "report/html_parts.h"

namespace ckpt::eval {

std::string_view html_style() {
  return R"(:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1b1f27;--soft:#5d6675;--line:#e1e5eb;
--good:#2563c9;--bad:#d1431f;--ok:#1a7f4b;--track:#e8ebf0}
@media(prefers-color-scheme:dark){:root{--page:#12151b;--card:#1a1f27;--ink:#e6e9ef;--soft:#98a2b3;--line:#2c333f;
--good:#6aa2f7;--bad:#ff7a54;--ok:#4cc38a;--track:#2a313c}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 48px}
header{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-end;justify-content:space-between}
h1{margin:0;font-size:22px;line-height:1.3;overflow-wrap:anywhere}
h2{margin:0 0 12px;font-size:16px}
p{margin:0}
.soft{color:var(--soft);font-size:13px;overflow-wrap:anywhere}
.big{font-size:44px;font-weight:650;line-height:1.1;font-variant-numeric:tabular-nums}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px;margin-top:16px;min-width:0}
.two{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:16px}
.two>section{margin-top:0}.two{margin-top:16px}.stack{display:grid;gap:16px;align-content:start;min-width:0}
.stack>section{margin-top:0}
@media(max-width:760px){.two{grid-template-columns:minmax(0,1fr)}.big{font-size:36px}main{padding:18px 12px 32px}}
ul.checks{list-style:none;margin:14px 0 0;padding:0}
ul.checks li{padding:3px 0 3px 26px;position:relative;overflow-wrap:anywhere}
ul.checks li::before{position:absolute;left:2px;font-weight:700}
li.pass::before{content:"\2713";color:var(--ok)}li.fail::before{content:"\2717";color:var(--bad)}
li.fail{font-weight:600}li.warn::before{content:"!";color:var(--bad);left:6px!important}
.scale{position:relative;height:10px;border-radius:5px;background:var(--track);margin:10px 0 4px}
.scale i{position:absolute;top:0;bottom:0;left:0;border-radius:5px;background:var(--good)}
.scale b{position:absolute;top:-3px;bottom:-3px;border-radius:3px;background:var(--ink);opacity:.35;min-width:3px}
svg{display:block;width:100%;height:auto;max-width:660px;margin:0 auto}
svg text{font-family:inherit;fill:var(--soft)}
svg .right{fill:var(--good)}svg .wrong{fill:var(--bad)}svg .cell{fill:var(--ink)}
svg .grid{fill:var(--track);opacity:.35}
.bars{display:grid;grid-template-columns:repeat(auto-fill,minmax(180px,1fr));gap:3px 22px}
.bar{display:grid;grid-template-columns:minmax(20px,auto) 1fr 68px;gap:8px;align-items:center;font-size:13px;
font-variant-numeric:tabular-nums}
.bar span:last-child{text-align:right}
.bar div{height:8px;border-radius:4px;background:var(--track);overflow:hidden}
.bar i{display:block;height:100%;background:var(--good)}
.worst{display:grid;grid-template-columns:repeat(auto-fill,minmax(140px,1fr));gap:12px}
figure{margin:0;border:1px solid var(--line);border-radius:8px;overflow:hidden;min-width:0}
figure img{display:block;width:100%;height:112px;object-fit:contain;image-rendering:pixelated;background:#0b0d11}
figure .none{height:112px;display:grid;place-items:center;background:var(--track);color:var(--soft);font-size:13px}
figcaption{padding:8px 10px;font-size:13px;overflow-wrap:anywhere}
figcaption b{font-size:15px;font-family:ui-monospace,"DejaVu Sans Mono",monospace}
.label{color:var(--ok)}.read{color:var(--bad)}
table{border-collapse:collapse;width:100%;font-size:14px}
td,th{padding:5px 10px 5px 0;text-align:left;vertical-align:top;border-top:1px solid var(--line);font-weight:400;
overflow-wrap:anywhere}
tr:first-child>*{border-top:0}
th{color:var(--soft);white-space:nowrap}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:12px/1.5 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
)";
}

}  // namespace ckpt::eval
