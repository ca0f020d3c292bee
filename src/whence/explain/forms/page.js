// Opens and closes all levels, and finds tuples; single levels are <details> and need no script.
"use strict";
const levels = () => document.querySelectorAll("main details");
document.querySelector(".controls").addEventListener("click", (event) => {
  const action = event.target.dataset.action;
  if (action) for (const level of levels()) level.open = action === "open";
});
document.querySelector("input").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  let found = 0;
  for (const text of document.querySelectorAll("main span:not(.rule)")) {
    const old = text.querySelector("mark");
    if (old) text.textContent = text.textContent;
    if (!wanted || !text.textContent.toLowerCase().includes(wanted)) continue;
    found += 1;
    const mark = document.createElement("mark");
    mark.textContent = text.textContent;
    text.replaceChildren(mark);
    for (let at = text.parentElement; at; at = at.parentElement) if (at.matches?.("details")) at.open = true;
  }
  document.querySelector(".found").textContent = wanted ? `${found} found` : "";
});
