"use strict";
const shown = document.getElementById("progress");
const look = async () => {
  try {
    const answer = await fetch(shown.dataset.state);
    const found = await answer.json();
    if (found.state !== "waiting" && found.state !== "running") { location.reload(); return; }
    shown.querySelector("ol").replaceChildren(...found.progress.map(([elapsed, text]) => {
      const line = document.createElement("li");
      line.textContent = `${elapsed.toFixed(1)} s: ${text}`;
      return line;
    }));
  } catch { shown.querySelector("p").textContent = "The server does not answer."; }
  setTimeout(look, 700);
};
setTimeout(look, 500);
