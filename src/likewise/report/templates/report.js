"use strict";
/* The page reads without this script. It adds downloads, search in tables, links to sections and keyboard commands. */
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "table";
  const save = (name, type, text) => {
    const address = URL.createObjectURL(new Blob([text], { type }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };

  /* Contents: closed on a phone, marking the current section on a desk. */
  const contents = document.querySelector("details.contents");
  if (matchMedia("(max-width: 64rem)").matches) contents.open = false;
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) entry.target.dataset.seen = entry.isIntersecting ? "1" : "";
    const current = all(".part").find((part) => part.dataset.seen);
    for (const [key, link] of links) {
      if (current && key === current.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "0px 0px -60% 0px" });
  const parts = all(".part");
  for (const part of parts) {
    seen.observe(part);
    const link = make("a", { className: "anchor", href: `#${part.id}`, textContent: "#", title: "Link to this section" });
    link.setAttribute("aria-label", "Link to this section");
    part.querySelector("summary").append(link);
  }
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let box = target.querySelector("details") || target; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  /* Tables: CSV, and search where there are many rows. */
  const cell = (node) => {
    const text = node.innerText.replace(/\s+/g, " ").trim();
    const safe = /^[=+@\t]/.test(text) && !/^[+]?[\d.,−-]+/.test(text) ? `'${text}` : text;
    return /[",\n;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const used = new Set();
  const named = (text) => {
    let name = slug(text), number = 2;
    while (used.has(name)) name = `${slug(text)}-${number++}`;
    used.add(name);
    return name;
  };
  /* A narrow screen shows each row as a card; a cell then needs the name of its column, with that of its group. */
  const name_columns = (table) => {
    if (!table.tHead || table.classList.contains("lines")) return;
    const heads = [...table.tHead.rows].map((row) => [...row.cells].flatMap((one) => Array(one.colSpan).fill(one.innerText.trim())));
    const names = heads[heads.length - 1].map((_, at) => heads.map((row) => row[at]).filter(Boolean).reverse().join(", "));
    if (names.length < 3) return;
    table.classList.add("stacked");
    for (const row of all("tbody tr", table)) {
      let at = 0;
      for (const one of row.cells) {
        if (one.tagName === "TD" && one.colSpan === 1 && names[at]) one.dataset.column = names[at];
        at += one.colSpan;
      }
    }
  };
  for (const table of all("table")) {
    const caption = table.caption ? table.caption.innerText : "table";
    const name = named(caption);
    table.id = table.id || `table-${name}`;
    const button = make("button", { type: "button", textContent: "CSV", title: `Download this table as ${name}.csv` });
    button.addEventListener("click", () => {
      const rows = [...table.rows].filter((row) => !row.hidden);
      const lines = rows.map((row) => [...row.cells].flatMap((one) => [cell(one), ...Array(one.colSpan - 1).fill("")]).join(","));
      save(`${name}.csv`, "text/csv;charset=utf-8", "\ufeff" + lines.join("\r\n") + "\r\n");
    });
    const tools = make("div", { className: "tools" }, button);
    const rows = all("tbody tr", table);
    if (rows.length > 10 && !table.classList.contains("lines")) {
      const search = make("input", { type: "search", placeholder: "Search this table" });
      search.setAttribute("aria-label", `Search: ${caption}`);
      search.addEventListener("input", () => {
        const words = search.value.toLowerCase().split(/\s+/);
        for (const row of rows) row.hidden = !words.every((word) => row.innerText.toLowerCase().includes(word));
      });
      tools.prepend(search);
    }
    name_columns(table);
    if (table.caption) table.caption.append(tools);
    else table.before(tools);
  }

  /* Figures: SVG with the colors it is shown in. */
  const style = getComputedStyle(document.documentElement);
  const colors = ["--ink", "--faint", "--focal", "--other", "--true", "--paper"];
  for (const figure of all("figure")) {
    if (!figure.querySelector("svg")) continue;
    const heading = figure.closest(".part").querySelector("h2").innerText;
    const name = named(`${heading} ${figure.previousElementSibling && /^H3$/.test(figure.previousElementSibling.tagName) ? figure.previousElementSibling.innerText : "figure"}`);
    figure.id = figure.id || `figure-${name}`;
    const button = make("button", { type: "button", textContent: "SVG", title: `Download this figure as ${name}.svg` });
    button.addEventListener("click", () => {
      const shown = all("svg", figure).find((svg) => svg.getClientRects().length) || figure.querySelector("svg");
      const copy = shown.cloneNode(true);
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      const rule = document.createElementNS("http://www.w3.org/2000/svg", "style");
      rule.textContent = `svg{${colors.map((key) => `${key}:${style.getPropertyValue(key)}`).join(";")};background:var(--paper);font-family:sans-serif}`;
      copy.prepend(rule);
      save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
    });
    figure.append(make("div", { className: "tools" }, button));
  }

  /* Keyboard: j and k to the next and previous section, e to fold or unfold all, / to search. */
  const fold = () => {
    const open = parts.some((part) => !part.querySelector("details").open);
    for (const part of parts) part.querySelector("details").open = open;
  };
  const button = make("button", { type: "button", className: "fold", textContent: "Fold or unfold all" });
  button.addEventListener("click", fold);
  contents.append(button, make("p", { className: "keys", textContent: "Keys: j, k next, previous; e fold; / search" }));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
    const at = parts.findLastIndex((part) => part.getBoundingClientRect().top < 40);
    if (event.key === "j" && parts[at + 1]) parts[at + 1].scrollIntoView();
    else if (event.key === "k") (parts[at - 1] || parts[0]).scrollIntoView();
    else if (event.key === "e") fold();
    else if (event.key === "/") {
      const box = all('input[type="search"]').find((input) => input.getBoundingClientRect().top > 0 && input.getClientRects().length);
      if (box) { event.preventDefault(); box.focus(); }
    }
  });

  /* Paper has no folds. */
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details").filter((box) => !box.open);
    for (const box of folded) box.open = true;
  });
  addEventListener("afterprint", () => { for (const box of folded) box.open = false; });
  reveal();
})();
