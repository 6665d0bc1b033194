// Follows the answers: VS Code sends a newer page, whose content takes the place of what is shown.
addEventListener("message", ({ data }) => {
  if (data?.type !== "page" || typeof data.html !== "string" || !showNewer(data.html)) return;
  const said = document.querySelector("#said");
  if (said) said.textContent = "The page shows the answer that has just ended.";
});
