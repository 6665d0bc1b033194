// Only the browser knows the address by which it reaches the server: a proxy may stand before it, with another name.
for (const place of document.querySelectorAll("[data-root]"))
  place.textContent = location.origin + location.pathname.replace(/\/+$/, "");
