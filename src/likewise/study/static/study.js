// Enhancement only: every page works without it. Number keys choose, z enlarges, responses are sent without a reload.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  let busy = false;
  let keys = true; // single keys can be switched off, for speech input and unsteady hands

  function offerKeys() {
    const button = $("[data-keys]");
    if (button) {
      button.hidden = !$("form[data-task]");
      button.setAttribute("aria-pressed", String(keys));
    }
    markOpen();
  }

  // The first question without a response, else the last one: the number keys answer it.
  function openGroup(form) {
    const groups = [...form.querySelectorAll("fieldset")];
    return groups.find((group) => !$("input:checked", group)) || groups[groups.length - 1];
  }

  // Numbers are shown beside the options that they choose now, and nowhere else.
  function markOpen() {
    const form = $("form[data-task]");
    if (!form) return;
    const open = keys ? openGroup(form) : null;
    form.querySelectorAll("fieldset").forEach((group) => group.classList.toggle("keyed", group === open));
  }

  function swap(text, address) {
    const page = new DOMParser().parseFromString(text, "text/html");
    document.title = page.title;
    document.documentElement.lang = page.documentElement.lang;
    for (const selector of ["header.top", "main", "footer"]) {
      const fresh = $(selector, page);
      if (fresh) $(selector).replaceWith(document.adoptNode(fresh)); // the footer stays as it is
    }
    document.querySelectorAll('link[rel="prefetch"]').forEach((link) => link.remove());
    page.querySelectorAll('link[rel="prefetch"]').forEach((link) => document.head.append(document.adoptNode(link)));
    if (address) history.replaceState(null, "", address);
    offerKeys();
    window.scrollTo(0, 0);
    $("main").focus({ preventScroll: true });
  }

  async function send(form, body) {
    if (busy) return;
    busy = true;
    for (let wait = 1000; ; wait = Math.min(wait * 2, 15000)) {
      try {
        const headers = { "Content-Type": "application/x-www-form-urlencoded", "X-Likewise": "script" };
        const response = await fetch(form.action, { method: "POST", body, headers, credentials: "same-origin" });
        if (response.status >= 500 || response.status === 429) throw new Error(String(response.status));
        swap(await response.text(), new URL(response.url).pathname);
        break;
      } catch (problem) {
        say(form.dataset.offline);
        await new Promise((resolve) => setTimeout(resolve, wait)); // the same answer again: it counts once
      }
    }
    busy = false;
  }

  function say(words) {
    let notice = $("main > .notice");
    if (!notice) {
      notice = document.createElement("p");
      notice.className = "notice";
      notice.setAttribute("role", "alert");
      $("main").prepend(notice);
    }
    notice.textContent = words;
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-task]")) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form));
    if (event.submitter && event.submitter.name) body.set(event.submitter.name, event.submitter.value);
    send(form, body);
  });

  function press(key) {
    const form = $("form[data-task]");
    if (!form) return;
    const button = $(`button[data-key="${key}"]`, form);
    if (button) { button.click(); return; }
    const groups = [...form.querySelectorAll("fieldset")];
    const open = openGroup(form);
    const choice = open && $(`input[data-key="${key}"]`, open);
    if (!choice) return;
    choice.checked = true;
    choice.focus();
    markOpen();
    if (groups.every((group) => $("input:checked", group)) && !$("textarea", form)) form.requestSubmit($("[data-next]", form));
  }

  function enlarge(link) {
    const dialog = document.createElement("dialog");
    const image = document.createElement("img");
    const close = document.createElement("button");
    image.src = link.href;
    image.alt = $("img", link).alt;
    close.textContent = ($("form[data-task]") || document.body).dataset.close || "×";
    close.type = "button";
    dialog.append(image, close);
    dialog.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
    document.body.append(dialog);
    dialog.showModal();
  }

  document.addEventListener("click", (event) => {
    if (event.target.matches("[data-keys]")) { keys = !keys; offerKeys(); return; }
    const link = event.target.closest && event.target.closest("a.zoom");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    enlarge(link);
  });

  document.addEventListener("change", markOpen);

  document.addEventListener("keydown", (event) => {
    if (!keys || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("textarea, input:not([type=radio])") || $("dialog[open]")) return;
    if (/^[0-9]$/.test(event.key)) press(event.key);
    else if (event.key === "z" && $("a.zoom")) enlarge($("a.zoom"));
    else if (event.key === "Enter" && !event.target.matches("a, button, summary") && $("[data-next]")) $("[data-next]").click();
    else return;
    event.preventDefault();
  });

  offerKeys();
  if (document.body.matches("[data-live]")) {
    setInterval(async () => {
      if (document.hidden) return;
      const response = await fetch(location.href, { credentials: "same-origin" });
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const left = $(".scroll") ? $(".scroll").scrollLeft : 0;
      $("main").replaceWith(document.adoptNode($("main", page)));
      if ($(".scroll")) $(".scroll").scrollLeft = left;
    }, 10000);
  }
})();
