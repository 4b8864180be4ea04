import{b as Z}from"./part-HYEF7Z3T.js";import{r as J,t as E,x as X}from"./part-6IJ64F7Y.js";import{d as L,e as D,g as G}from"./part-JWL7BSKW.js";import{a as te,c as ne,d as se,e as re}from"./part-RT5NHV43.js";import{b as I,c as ee,h as _}from"./part-RTRJRAVX.js";import"./part-CTH3YIFE.js";import{a as Q,b as q,f as F,g as V,i as Y,j as v}from"./part-WZLK7TLV.js";import{e as O}from"./part-TKFY3XHG.js";import{P as H}from"./part-2JZ6SROB.js";import"./part-HV447ELL.js";import{a as p,c as S,d as C,f as a,g as M,i as g,j as n}from"./part-XLBNNJ3T.js";import{f as b}from"./part-WEHIJA55.js";import"./part-AJJ3ULMT.js";var l=a(!1),$=a(""),A=a(!1),y=a("order"),j=a("2"),B=a(""),z=a("stripes"),R=a("given"),N=a(""),U=a(""),ie=[["problem","Problem","One plan: buffers with sizes and lifetimes, and where each goes."],["graph","Graph","One plan of operators and tensors, with the order in which they run."],["front","Front","Several plans to choose from: less memory for more cost."],["symbols","Symbols","One plan for sizes that are formulas of symbols, at all of their values."]],K={problem:`{
  "version": 1,
  "name": "first",
  "buffers": [
    {"id": "input", "size": 4096, "lifetime": [0, 2]},
    {"id": "conv1", "size": 8192, "lifetime": [1, 3]},
    {"id": "conv2", "size": 4096, "lifetime": [2, 5]},
    {"id": "relu", "size": 4096, "lifetime": [3, 5]},
    {"id": "output", "size": 1024, "lifetime": [4, 6]}
  ]
}
`,graph:`{
  "version": 1,
  "name": "branches",
  "order": "free",
  "tensors": [
    {"id": "input", "size": 4096},
    {"id": "left", "size": 16384},
    {"id": "small left", "size": 1024},
    {"id": "right", "size": 16384},
    {"id": "small right", "size": 1024},
    {"id": "output", "size": 2048}
  ],
  "operators": [
    {"id": "conv left", "inputs": ["input"], "outputs": ["left"]},
    {"id": "conv right", "inputs": ["input"], "outputs": ["right"]},
    {"id": "pool left", "inputs": ["left"], "outputs": ["small left"]},
    {"id": "pool right", "inputs": ["right"], "outputs": ["small right"]},
    {"id": "add", "inputs": ["small left", "small right"], "outputs": ["output"]}
  ],
  "inputs": ["input"],
  "outputs": ["output"]
}
`,front:`{
  "version": 1,
  "name": "two memories",
  "pools": [{"id": "fast", "capacity": 4096}, {"id": "slow", "cost": 4}],
  "buffers": [
    {"id": "a", "size": 1024, "lifetime": [0, 3], "accesses": 9000},
    {"id": "b", "size": 2048, "lifetime": [1, 4], "accesses": 3000},
    {"id": "c", "size": 1536, "lifetime": [2, 6], "accesses": 8000},
    {"id": "d", "size": 512, "lifetime": [3, 7], "accesses": 600},
    {"id": "e", "size": 1024, "lifetime": [5, 9], "accesses": 4000}
  ]
}
`,symbols:`{
  "version": 1,
  "name": "a sequence",
  "symbols": [{"id": "s", "min": 1, "max": 512}],
  "buffers": [
    {"id": "tokens", "size": "64*s", "lifetime": [0, 2]},
    {"id": "scores", "size": "4*s*s", "lifetime": [1, 3]},
    {"id": "output", "size": "64*s", "lifetime": [2, 4]}
  ]
}
`};function W(t){if(!/^\s*\{/.test(t))return"problem";let s=O(new TextEncoder().encode(t));if(s===null)return null;let e=s.get("graph")??s.get("problem"),r=e!==void 0&&e[0]===123?O(e)??s:s;return r.has("symbols")?"symbols":r.has("operators")?"graph":"problem"}function oe(t){return/^\s*\{/.test(t)&&O(new TextEncoder().encode(t))?.has("front")===!0}function ae(t){let{kind:s,change:e}=t,r=l.value&&s!=="symbols"?"front":s,o=ie.find(([i])=>i===r)?.[2]??"What is written cannot be read yet.";return n(p,{children:[n("div",{class:"segments",role:"group","aria-label":"what is planned",children:ie.map(([i,u])=>n("button",{type:"button","aria-pressed":i===r,onClick:()=>{l.value=i==="front",i!==r&&e(i)},children:u},i))}),n("p",{class:"quiet",children:o})]})}function le(t){let{kind:s}=t;return n(p,{children:[s==="graph"&&n(p,{children:[n(x,{name:"Order",value:$,choices:[["","as the graph says"],["given","as listed"],["free","the best there is"]]}),n("label",{class:"tick",children:[n("input",{type:"checkbox",checked:A.value,onChange:e=>A.value=e.currentTarget.checked}),"operators may overwrite inputs"]})]}),s==="symbols"&&n(p,{children:[n(x,{name:"Orders",value:y,choices:[["order","one for all values"],["pieces","several, by value"],["fixed","offsets, the same at all"]]}),y.value==="pieces"&&n(T,{name:"Orders at most",value:j})]}),s!=="symbols"&&l.value&&n(p,{children:[n(T,{name:"Two terms",value:B,hint:s==="graph"?"peak,cost":"as the problem has them"}),s==="graph"&&n(p,{children:[n(x,{name:"Besides the order",value:z,choices:[["stripes","stripes"],["stripes,recompute","stripes, runs again"],["stripes,recompute,spill","stripes, runs again, copies out"],["none","nothing"],...be(z.value)]}),n(x,{name:"Cost",value:R,choices:[["given","as operators give it"],["bytes","bytes that they move"]]})]}),n(T,{name:"Times the least cost, at most",value:N,hint:"any"}),n(T,{name:"Points at most",value:U,hint:"1,000"})]})]})}var ve=["stripes","stripes,recompute","stripes,recompute,spill","none"];function be(t){return ve.includes(t)?[]:[[t,t.replaceAll(",",", ")]]}function x(t){return n("label",{children:[t.name,n("select",{value:t.value.value,onChange:s=>t.value.value=s.currentTarget.value,children:t.choices.map(([s,e])=>n("option",{value:s,children:e},s))})]})}function T(t){return n("label",{children:[t.name,n("input",{type:"text",placeholder:t.hint,value:t.value.value,onInput:s=>t.value.value=s.currentTarget.value})]})}function ue(t){let s={},e=(r,o)=>{o.trim()!==""&&(s[r]=o.trim())};return t==="graph"&&(e("order",$.value),A.value&&(s.in_place="true")),t==="symbols"?(s.shapes=y.value,y.value==="pieces"&&e("pieces",j.value)):l.value&&(e("terms",B.value),e("within",N.value),e("points",U.value),t==="graph"&&(s.generators=z.value,R.value!=="given"&&(s.cost=R.value))),s}function ce(t){return l.value&&t!=="symbols"?"/v1/fronts":"/v1/jobs"}function pe(t,s){let e=t.front,r=o=>Array.isArray(o)?o.join(","):o==null?"":String(o);l.value=e!==void 0,B.value=r(e?.terms),z.value=r(e?.generators??"stripes")||"none",R.value=r(e?.cost)||"given",N.value=r(e?.within),U.value=r(e?.points),y.value=r(t.shapes)||"order",j.value=r(t.pieces)||"2",$.value=s,A.value=!1}var me={problem:"a problem",graph:"a graph",front:"a problem or a graph",symbols:"a problem with symbols"},he=4e6,ge=2,m=a(K.problem),f=M(()=>W(m.value)),w=a("10"),k=a("auto"),P=a(!1);function He(){let t=C(null),s=C(null),e=g(""),r=g(null),o=g(!1),i=C(new AbortController),u=J.value;S(()=>{i.current=new AbortController;let c=i.current.signal;return we(t,s,c,e),()=>{i.current.abort(),s.current?.close(),s.current=null}},[]),S(()=>{ke(s,e,i.current.signal)},[u,Q.value]);let h=async c=>{o.value=!0,e.value="",r.value=null,s.current?.mark([]);try{await Oe(m.value,c,i.current.signal)}catch(d){if(i.current.signal.aborted)return;d instanceof F?(r.value=d,s.current?.mark(d.issues),d.needsKey&&(q.value={why:v(d)})):e.value=v(d)}o.value=!1},de=c=>{e.value="";let d=Object.values(K).includes(m.value)||m.value.trim()==="";(c==="front"?f.value==="graph"||f.value==="problem"&&!d:c===f.value)||(d?(m.value=K[c],s.current?.replace(m.value)):e.value=`What is written is ${me[f.value??"problem"]}. Paste ${me[c]} to plan it.`)},fe=c=>s.current?.reveal(c);return n("main",{class:"page wide new",children:[n("h1",{children:"New plan"}),n("div",{class:"columns",children:[n("div",{class:"written",ref:t}),n("aside",{class:"asked","aria-label":"how it is solved",children:[n(ae,{kind:f.value,change:de}),n(le,{kind:f.value}),n(xe,{kind:f.value}),n("p",{class:"buttons",children:[n("button",{type:"button",class:"main",disabled:o.value,onClick:()=>{h(!1)},children:o.value?"Planning …":l.value&&f.value!=="symbols"?"Find the front":"Plan"}),n("button",{type:"button",disabled:o.value,hidden:f.value!=="problem"||l.value,onClick:()=>{h(!0)},children:"As a job"})]}),n("div",{role:"status",children:[e.value!==""&&n("p",{class:"trouble",children:b(e.value,400)}),r.value!==null&&n(Te,{refusal:r.value,reveal:fe})]}),n(Z,{}),n("p",{class:"quiet",children:["A problem, a graph, a problem with symbols or a request in JSON, or a problem in CSV. ",n("kbd",{children:"Ctrl"})," ",n("kbd",{children:"Space"})," completes names and values; ",n("kbd",{children:"F8"})," goes to the next fault."]})]})]})]})}function ye(t){m.value=t,oe(t)&&(l.value=!0)}async function we(t,s,e,r){let o=await te();if(!(e.aborted||t.current===null)){s.current=o(t.current,{text:m.peek(),label:"problem, graph or request",changed:ye});try{let i=await ne();e.aborted||s.current?.complete(i)}catch(i){r.value=`Without completion: ${v(i)}`}}}async function ke(t,s,e){let[r,o]=[E().get("example"),E().get("job")];if(!(r===null&&o===null))try{let i=o===null?`/v1/examples/${encodeURIComponent(r??"")}`:`/v1/jobs/${encodeURIComponent(o)}/problem`,u=await(await V(i,{signal:e})).text(),h=o===null?{}:(await Y(`/v1/jobs/${encodeURIComponent(o)}`,e)).options;if(e.aborted)return;if(u.length>he)throw new Error("It is too long to be edited here.");m.value=re(u),pe(h,E().get("order")??""),o!==null&&Se(h),t.current?.replace(m.value),history.replaceState(null,"","/new"),J.value="/new"}catch(i){if(e.aborted)return;s.value=v(i),i instanceof F&&i.needsKey&&(q.value={why:v(i)})}}function Se(t){typeof t.time_limit=="number"&&(w.value=String(t.time_limit)),typeof t.solver=="string"&&(k.value=t.solver),P.value=t.deterministic===!0}function Ce(t){let s={};return w.value.trim()!==""&&(s.time_limit=w.value.trim()),k.value!=="auto"&&t!=="symbols"&&(s.solver=k.value),P.value&&(s.deterministic="true"),s}async function Oe(t,s,e){let r=W(t),o={...I(t),query:{...Ce(r),...ue(r)}};if(s||r!=="problem"||l.value)return X(await _(ce(r),o,{},e),e);let i=await _("/v1/plan",{...o,query:{...o.query,output_format:"page"}},{Prefer:`wait=${ge}`},e);if(i.status===202||i.headers.get("memstow-final")==="false")return X(i,e);let u=new Uint8Array(await i.arrayBuffer());await Ee(I(t),u,e)}async function Ee(t,s,e){let r=await ee(t,e);if(e.aborted)return;let o=new Blob([r]),i=[{name:"new plan",bytes:r,trusted:!0},{name:"plan",bytes:s,trusted:!0}],u=D(i);await G(i),L(u),H.value=[o]}function xe(t){let s=g(["auto"]);return S(()=>{se().then(e=>s.value=e,()=>{})},[]),n(p,{children:[n("label",{children:["Seconds at most",n("input",{type:"number",min:"0",step:"any",value:w.value,onInput:e=>w.value=e.currentTarget.value})]}),t.kind!=="symbols"&&n("label",{children:["Solver",n("select",{value:k.value,onChange:e=>k.value=e.currentTarget.value,children:s.value.map(e=>n("option",{value:e,children:e},e))})]}),n("label",{class:"tick",children:[n("input",{type:"checkbox",checked:P.value,onChange:e=>P.value=e.currentTarget.checked}),"the same plan each time"]}),n("p",{class:"quiet",children:"Options in a request take precedence."})]})}function Te(t){let{issues:s}=t.refusal;return n(p,{children:[s.length!==1&&n("p",{class:"trouble",children:s.length===0?b(v(t.refusal),400):`${s.length} things are wrong:`}),n("ul",{class:"faults",children:s.map((e,r)=>n("li",{children:[e.path.startsWith("query.")?n("b",{children:b(e.path.slice(6),80)}):n("button",{type:"button",class:"link",onClick:()=>t.reveal(e),children:b(e.path,80)})," ",b(e.message,300)]},r))})]})}export{He as NewPage};
