import{i as a}from"./part-WZLK7TLV.js";import{c as p}from"./part-TKFY3XHG.js";async function h(){try{return(await import("./part-EXRH7YEF.js")).open}catch{return f}}function f(n,e){let t=document.createElement("textarea");return t.value=e.text,t.spellcheck=!1,t.setAttribute("aria-label",e.label),t.addEventListener("input",()=>e.changed(t.value)),n.append(t),{text:()=>t.value,replace:r=>t.value=r,mark:()=>{},reveal:()=>t.focus(),complete:()=>{},close:()=>t.remove()}}var i=null;function m(){return i??=a("/openapi.json").catch(n=>{throw i=null,n}),i}async function g(){let n=await m();return{root:n.paths["/v1/jobs"]?.post?.requestBody?.content["application/json"]?.schema??{},named:n.components.schemas}}async function y(){return((await m()).components.schemas.Options?.properties?.solver?.enum??["auto"]).map(String)}var d=110;function j(n){return s(p(n),"")}function s(n,e){let t=c(n);if(t.length+e.length<=d)return t;let r=`${e}  `;return Array.isArray(n)?`[
${n.map(o=>r+s(o,r)).join(`,
`)}
${e}]`:typeof n=="object"&&n!==null?`{
${Object.entries(n).map(([o,u])=>`${r}${JSON.stringify(o)}: ${s(u,r)}`).join(`,
`)}
${e}}`:t}function c(n){return Array.isArray(n)?`[${n.map(c).join(", ")}]`:typeof n=="bigint"?String(n):typeof n!="object"||n===null?JSON.stringify(n):`{${Object.entries(n).map(([e,t])=>`${JSON.stringify(e)}: ${c(t)}`).join(", ")}}`}export{h as a,m as b,g as c,y as d,j as e};
