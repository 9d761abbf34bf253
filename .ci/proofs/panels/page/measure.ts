// What can be read in a drawn panel, and which of its texts are cut.

// textsOf are the text nodes of an element that take room.
function* textsOf(element: Element): Generator<[Text, DOMRect]> {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node; (node = walker.nextNode() as Text | null); ) {
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (node.data.trim() && box.width > 1 && box.height > 1 && getComputedStyle(node.parentElement!).visibility === 'visible') yield [node, box];
  }
}

// cutsOf are the texts that an element between them and the panel hides in part: by an ellipsis, beyond its edge, or where a
// reader would have to scroll to the side. What is reached by scrolling down is not cut.
export function cutsOf(panel: Element): string[] {
  const cuts = Array.from(panel.querySelectorAll('[data-cut]'), (e) => e.getAttribute('data-cut')!);
  for (const [text, box] of textsOf(panel)) {
    for (let e = text.parentElement!; e !== panel.parentElement; e = e.parentElement!) {
      const style = getComputedStyle(e), edge = e.getBoundingClientRect(), slack = parseFloat(style.fontSize) / 4; // of a line's height, not of its letters
      if (edge.width <= 1) break; // for screen readers only
      const aside = style.overflowX !== 'visible' && (box.right > edge.right + 1 || box.left < edge.left - 1);
      const below = ['hidden', 'clip'].includes(style.overflowY) && (box.bottom > edge.bottom + slack || box.top < edge.top - slack);
      if (['auto', 'scroll'].includes(style.overflowY) && (box.top >= edge.bottom - slack || box.bottom <= edge.top + slack)) break;
      if (aside || below) {
        cuts.push(text.data.trim());
        break;
      }
    }
  }
  return [...new Set(cuts)];
}

// wordsOf is the text of an element as it is read; each node once.
export const wordsOf = (element: Element): string => Array.from(textsOf(element), ([text]) => text.data.trim()).join(' ');
