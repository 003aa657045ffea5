// One tooltip for the whole window: shown on hover and on focus, names the key.
import { keyText } from "./keys";

let bubble: HTMLElement | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

function show(target: HTMLElement, text: string): void {
  bubble ??= document.body.appendChild(
    Object.assign(document.createElement("div"), { className: "tip" }),
  );
  bubble.setAttribute("role", "tooltip");
  bubble.textContent = text;
  // A modal dialog paints over everything outside of it, so the tip moves into it.
  (target.closest("dialog") ?? document.body).append(bubble);
  const box = target.getBoundingClientRect();
  bubble.hidden = false;
  const width = bubble.offsetWidth;
  const left = Math.min(Math.max(6, box.left + box.width / 2 - width / 2), innerWidth - width - 6);
  const below = box.bottom + 6 + bubble.offsetHeight < innerHeight;
  bubble.style.left = `${left}px`;
  bubble.style.top = `${below ? box.bottom + 6 : box.top - bubble.offsetHeight - 6}px`;
}

function hide(): void {
  clearTimeout(timer);
  if (bubble) bubble.hidden = true;
}

/** Attaches a tooltip to a button. */
export function tip(text: string | undefined, keys?: string): (node: HTMLElement) => () => void {
  return (node) => {
    const words = [text, keys ? `(${keyText(keys)})` : ""].filter(Boolean).join(" ");
    if (!text) return () => {};
    const enter = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => show(node, words), 450);
    };
    const focus = (): void => {
      if (node.matches(":focus-visible")) show(node, words);
    };
    node.addEventListener("pointerenter", enter);
    node.addEventListener("focus", focus);
    for (const event of ["pointerleave", "blur", "click"]) node.addEventListener(event, hide);
    return () => {
      hide();
      node.removeEventListener("pointerenter", enter);
      node.removeEventListener("focus", focus);
      for (const event of ["pointerleave", "blur", "click"]) node.removeEventListener(event, hide);
    };
  };
}
