// Only the browser knows the address by which it reaches the server: a proxy before it may have another name.
for (const place of document.querySelectorAll("[data-root]"))
  place.textContent = location.origin + location.pathname.replace(/\/+$/, "");
