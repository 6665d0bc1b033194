// Portkey 1.15.2 changes the headers of what `fetch` answers, which Node 20 refuses: these ones it can change.
const fetched = globalThis.fetch;
globalThis.fetch = async (...asked) => {
  const { body, status, headers } = await fetched(...asked);
  return new Response(body, { status, headers: new Headers(headers) });
};
