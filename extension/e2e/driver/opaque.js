/** In the page: whether nothing around an element is still fading in. */
export function isOpaque(element) {
  for (let node = element; node; node = node.parentElement) {
    if (Number(getComputedStyle(node).opacity) < 1) return false;
  }
  return true;
}
