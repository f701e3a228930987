/** Cut between two characters, and shown to be cut. */
export function beginning(text: string, length_max: number): string {
  if (text.length <= length_max) return text
  return `${text.slice(0, length_max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
