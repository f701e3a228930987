/** Truncates between two characters and appends an ellipsis. */
export function truncate(text: string, length_max: number): string {
  if (text.length <= length_max) return text
  return `${text.slice(0, length_max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
