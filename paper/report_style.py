"""How the report looks: light and dark, on a phone and on paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #555; --page: #fff; --line: #ddd;
        --code: #f6f6f6; --link: #0b5cad; --holds: #00694d; --fails: #a83f00; --open: #5b5b5b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --soft: #b0b0b0; --page: #16181b; --line: #3a3d42; --code: #22252a;
          --link: #8ab8f0; --holds: #6bd6b1; --fails: #ffab7a; --open: #bdbdbd; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
       margin: 0; overflow-wrap: break-word; }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); }
h1 { font-size: 1.7rem; line-height: 1.2; margin-bottom: .6rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .4rem; }
h3 { font-size: 1.15rem; margin: 2.4rem 0 .4rem; padding-top: 1rem;
     border-top: 1px solid var(--line); }
h4 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p, ul, ol { max-width: 46rem; }
.story { font-size: 1.1rem; }
nav ol { padding-left: 1.4rem; }
figure { margin: 1rem 0; }
figure img { background: #fff; border-radius: 4px; padding: .4rem; box-sizing: border-box;
             width: 100%; min-width: 36rem; height: auto; }
figcaption, .note { color: var(--soft); font-size: .88rem; }
.claims { list-style: none; padding: 0; }
.claims li { margin: .7rem 0; }
.claims p { margin: .1rem 0 0; }
table { border-collapse: collapse; font-size: .88rem; margin: .4rem 0 1rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
         border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.wide { overflow-x: auto; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); } .fails { color: var(--fails); } .undecided { color: var(--open); }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--soft); font-size: .88rem; }
pre { font-size: .8rem; background: var(--code); padding: .6rem; overflow-x: auto; }
@media print { details { display: none; } h3 { break-before: page; } main { margin: 0; }
               figure { break-inside: avoid; } figure img { min-width: 0; } }
"""
