/** Cuts text at a limit and never inside a character. */

export function clip(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const last = text.charCodeAt(charsMax - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, isHalf ? charsMax - 1 : charsMax)}…`;
}

/** On one line, blanks taken together. */
export function clipLine(text: string, charsMax: number): string {
  return clip(text.replaceAll(/\s+/g, ' ').trim(), charsMax);
}
